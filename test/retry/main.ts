/**
 * Runs the failed test files of a test run once more, one after the other. A test that compares real time with a limit
 * can fail because the other test files use all processor time; it passes when it runs alone.
 *
 *     npm test -- --reporter=default --reporter=json --outputFile=results.json ||
 *       node --import tsx test/retry/main.ts results.json
 *
 * Exits with 1 if a test fails again, if a test has failed that never runs again (see `mayRunAgain`), or if more than
 * {@link MAX_FILES} files have failed, because so many failures have a common cause.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { relative, resolve } from "node:path"
import { readProgram } from "../support/Program.ts"
import { mayRunAgain } from "../support/Retries.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const MAX_FILES = 12

/** The report of Vitest, as far as it is read. */
interface Report {
  readonly testResults: ReadonlyArray<{ readonly name: string; readonly status: "passed" | "failed" }>
}

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const { positionals } = readProgram({}, "RESULTS")
const [results] = positionals
if (results === undefined || positionals.length > 1) fail("Name the file with the results of one test run.")

const { testResults } = JSON.parse(readFileSync(results as string, "utf8")) as Report
const failed = testResults.filter(({ status }) => status === "failed").map(({ name }) => relative(ROOT, name))
const final = failed.filter((file) => !mayRunAgain(`/${file}`))
if (failed.length === 0) fail("No test file has failed, so the cause is not in a test file.")
if (final.length > 0) fail(`A failure of these files is final:\n${final.join("\n")}`)
if (failed.length > MAX_FILES) fail(`${failed.length} test files have failed. At most ${MAX_FILES} run again.`)

console.log(`These test files have failed and run again, alone:\n${failed.join("\n")}`)
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--no-isolate", "--minWorkers=1", "--maxWorkers=1"]
const env = { ...process.env, TEST_RETRIES: "0" }
const { status } = spawnSync(process.execPath, [...vitest, ...failed], { cwd: ROOT, env, stdio: "inherit" })
process.exitCode = status ?? 1
