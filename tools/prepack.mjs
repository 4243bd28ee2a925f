/**
 * Prepares the folder `dist` of the package in the current folder for `npm pack`. Runs after `tsc -b`.
 *
 * TypeScript writes `.js` into the imports of JavaScript files, but leaves `.ts` in the imports of declaration files,
 * which other tools cannot resolve. It also does not delete the outputs of deleted sources. This script corrects both.
 * It keeps the modification times of the files, so that `tsc -b` still considers the package up to date.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

const outputs = readdirSync("dist", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(js|d\.ts)(\.map)?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))

for (const output of outputs) {
  const source = join("src", relative("dist", output).replace(/\.(js|d\.ts)(\.map)?$/, ".ts"))
  if (!existsSync(source)) rmSync(output)
  else if (output.endsWith(".d.ts")) correctSpecifiers(output)
}

function correctSpecifiers(declaration) {
  const text = readFileSync(declaration, "utf8")
  const corrected = text.replace(/(\bfrom |\bimport |\bimport\()"(\.[^"]*)\.ts"/g, '$1"$2.js"')
  if (corrected === text) return
  const { atime, mtime } = statSync(declaration)
  writeFileSync(declaration, corrected)
  utimesSync(declaration, atime, mtime)
}
