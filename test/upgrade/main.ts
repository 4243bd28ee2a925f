/**
 * Upgrades a deployment under load from an earlier release to this one (`npm run upgrade:try -- --from REF`). Prints
 * the figures, and exits with 1 if a request failed or was not charged exactly once, no stream or no whole response
 * succeeded, a server did not exit normally, or the audit found a difference.
 *
 * REF is a tag or a commit; the default is the previous release. `--streams N` and `--whole N` set the number of
 * concurrent requests for streams and for whole responses, and `--servers N` the number of servers. `--pause SECONDS`
 * sets the time between the steps. `--keep` keeps the files of the run.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildThisCheckout, positiveNumber, readProgram, wholeNumber } from "../support/Program.ts"
import { build, isCommit, previousRelease, shortName, THIS_CHECKOUT } from "./Releases.ts"
import { rollOut } from "./Rollout.ts"

const { values } = readProgram({
  from: { placeholder: "REF", wanted: "a tag or a commit", read: (ref) => (isCommit(ref) ? ref : undefined) },
  servers: wholeNumber("N", 1),
  streams: wholeNumber("N", 1),
  whole: wholeNumber("N", 1),
  pause: positiveNumber("SECONDS"),
  keep: "flag"
})
buildThisCheckout()

const print = (line: string) => process.stdout.write(`${line}\n`)
const from = values.from ?? previousRelease()
const old = build(from)
const directory = mkdtempSync(join(tmpdir(), "tollgate-upgrade-"))
print(`From ${from} (${shortName(from)}) to ${shortName("HEAD")}, Node.js ${process.version}`)

const report = await rollOut({
  old,
  fresh: THIS_CHECKOUT,
  directory,
  servers: values.servers ?? 2,
  streams: values.streams ?? 24,
  whole: values.whole ?? 16,
  pauseMillis: (values.pause ?? 5) * 1_000,
  print
}).finally(() => {
  if (values.keep) print(`The files of this run are in ${directory}`)
  else rmSync(directory, { recursive: true, force: true })
})

const seconds = (millis: number) => (millis / 1_000).toFixed(1)
const drainsOf = (release: "old" | "fresh") =>
  report.drains
    .filter((drain) => drain.release === release)
    .map(({ millis }) => seconds(millis))
    .join(", ")
print("")
print(
  `Streams: ${report.succeeded.streams}, whole responses: ${report.succeeded.whole}, failed: ${report.failures.length}`
)
print(`Settlements: ${report.charges.settled}, of which charge exactly one response: ${report.charges.exact}`)
print(`Requests that the load balancer sent to a second server after a refused connection: ${report.retried}`)
print(`tollgate migrate: ${seconds(report.migrateMillis)} s for ${report.migrations.length} migrations`)
print(`Seconds from SIGTERM to exit: old release ${drainsOf("old")}; new release ${drainsOf("fresh")}`)
print(`Audit: ${report.audit || "clean"}`)
for (const failure of report.failures.slice(0, 20)) print(`  ${failure}`)
const { streams, whole } = report.succeeded
const isCharged = report.charges.settled === streams + whole && report.charges.exact === report.charges.settled
const isLoaded = streams > 0 && whole > 0
const isClean =
  report.failures.length === 0 &&
  report.audit === "" &&
  isLoaded &&
  isCharged &&
  report.drains.every(({ clean }) => clean)
process.exitCode = isClean ? 0 : 1
