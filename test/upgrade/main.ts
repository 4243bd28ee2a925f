/**
 * Upgrades a deployment under load from an earlier release to this one (`npm run upgrade:try -- --from REF`). Prints the
 * figures, and exits with 1 if a request failed or was not charged exactly once, a server did not exit normally, or the audit
 * found a difference.
 *
 * REF is a tag or a commit; the default is the previous release. `--streams N` and `--whole N` set the number of
 * concurrent requests of each kind. `--pause SECONDS` sets the time between the steps. `--keep` keeps the files of the
 * run.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { build, previousRelease, shortName, THIS_CHECKOUT } from "./Releases.ts"
import { rollOut } from "./Rollout.ts"

const { values } = parseArgs({
  options: {
    from: { type: "string" },
    servers: { type: "string", default: "2" },
    streams: { type: "string", default: "24" },
    whole: { type: "string", default: "16" },
    pause: { type: "string", default: "5" },
    keep: { type: "boolean", default: false }
  }
})

const print = (line: string) => process.stdout.write(`${line}\n`)
const from = values.from ?? previousRelease()
const old = build(from)
const directory = mkdtempSync(join(tmpdir(), "tollgate-upgrade-"))
print(`From ${from} (${shortName(from)}) to ${shortName("HEAD")}, Node.js ${process.version}`)

const report = await rollOut({
  old,
  fresh: THIS_CHECKOUT,
  directory,
  servers: Number(values.servers),
  streams: Number(values.streams),
  whole: Number(values.whole),
  pauseMillis: Number(values.pause) * 1_000,
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
