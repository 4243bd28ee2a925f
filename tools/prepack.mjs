/**
 * Prepares `dist` of the package in the current folder for `npm pack`, after `tsc -b`.
 *
 * TypeScript writes `.js` specifiers into JavaScript but leaves `.ts` in declarations, which other tools do not resolve.
 * It also leaves the outputs of deleted sources behind. Both are corrected here. Times of files are kept: to `tsc -b`
 * the package is still up to date.
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
