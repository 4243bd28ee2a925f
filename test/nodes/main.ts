/**
 * Runs the tests that depend on Node.js with each tested version, except the major version that is installed
 * (`npm run test:nodes`). Exits with 1 if a test fails.
 *
 * `--node MAJOR` selects a version, also the installed one. Test files or folders replace the default list:
 *
 *     npm run test:nodes -- --node 24 test/e2e/Shutdown.test.ts
 *
 * `--install` runs no test. It installs the versions and prints the folder of each executable:
 *
 *     PATH="$(npm run -s test:nodes -- --node 24 --install):$PATH" npm test
 */
import { spawnSync } from "node:child_process"
import { delimiter, dirname, join, resolve } from "node:path"
import { readProgram, someOf } from "../support/Program.ts"
import { NODE_TESTS, TESTED_NODES } from "./TestedNodes.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const INSTALL_TIMEOUT_MILLIS = 300_000
const TESTS_TIMEOUT_MILLIS = 1_800_000

const majorOf = (version: string): string => version.split(".", 1)[0] ?? ""

const { positionals, values } = readProgram({ node: someOf(TESTED_NODES.map(majorOf)), install: "flag" }, "[TEST...]")

/** Installs a version from the npm registry, unless it is installed. Returns the path of its executable. */
const install = (version: string): string => {
  const folder = join(ROOT, ".tollgate/nodes", version)
  const executable = join(folder, "node_modules/node/bin/node")
  const installed = () => spawnSync(executable, ["--version"], { encoding: "utf8" }).stdout?.trim()
  if (installed() !== `v${version}`) {
    const options = ["--prefix", folder, "--no-fund", "--no-audit", "--loglevel=error"]
    spawnSync("npm", ["install", ...options, `node@${version}`], {
      // A shell reads the stdout of this program, so the lines of npm go to stderr.
      stdio: ["ignore", process.stderr, "inherit"],
      timeout: INSTALL_TIMEOUT_MILLIS
    })
    if (installed() !== `v${version}`) throw new Error(`npm could not install Node.js ${version} in ${folder}`)
  }
  return executable
}

/** Runs the tests. Their child processes, such as servers and npm, use the same version. Returns whether all passed. */
const passes = (executable: string, tests: ReadonlyArray<string>): boolean => {
  const { status } = spawnSync(executable, ["node_modules/vitest/vitest.mjs", "run", "--no-isolate", ...tests], {
    cwd: ROOT,
    env: { ...process.env, PATH: `${dirname(executable)}${delimiter}${process.env.PATH}` },
    stdio: "inherit",
    timeout: TESTS_TIMEOUT_MILLIS
  })
  return status === 0
}

const selected = TESTED_NODES.filter((version) =>
  values.node === undefined
    ? majorOf(version) !== majorOf(process.versions.node)
    : values.node.includes(majorOf(version))
)
const failed = selected.filter((version) => {
  const executable = install(version)
  if (values.install) {
    console.log(dirname(executable))
    return false
  }
  console.log(`\nNode.js ${version}`)
  return !passes(executable, positionals.length > 0 ? positionals : NODE_TESTS)
})
if (failed.length > 0) console.error(`Tests failed with Node.js ${failed.join(" and ")}.`)
process.exitCode = failed.length > 0 ? 1 : 0
