/**
 * Kills the primary of three Postgres nodes under load (`npm run failover`). Then it checks that no request is charged
 * twice, that no charge is higher than the delivered content, and that no acknowledged operation is lost.
 *
 *     npm run failover -- --kills 20
 *     npm run failover -- --kills 2 --pgbouncer      the gateways connect through PgBouncer
 *     npm run failover -- --kills 0 --quorum-lost    kills and restarts two of three nodes
 *     npm run failover -- --kills 0 --standbys-lost  kills and restarts both standbys; the primary still runs
 *
 * It needs the Debian packages patroni, python3-etcd, etcd-server, haproxy, postgresql and pgbouncer. See
 * docs/operations.md, "Failover of the database".
 */
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { buildThisCheckout, readProgram, wholeNumber } from "../support/Program.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { asPlayed } from "../support/upstream/Play.ts"
import { activeMillis, eventually, pausesMillis } from "./ActiveTime.ts"
import { Gateways } from "./Gateways.ts"
import { PatroniCluster } from "./PatroniCluster.ts"
import { ownDirectory, Processes } from "./Processes.ts"
import { RequestLoad } from "./RequestLoad.ts"
import { ResellerLoad } from "./ResellerLoad.ts"
import { audited, checkCharges, checkOperations, openRequests } from "./Verdict.ts"

const { values } = readProgram({
  kills: wholeNumber("N"),
  pgbouncer: "flag",
  "quorum-lost": "flag",
  "standbys-lost": "flag",
  keep: "flag"
})
buildThisCheckout()
const kills = values.kills ?? 20
/** The time of undisturbed load before each failure. */
const CALM_MILLIS = 8_000
/** The time for which the killed nodes stay dead. It is longer than the statement timeout of the database sessions. */
const LOST_MILLIS = 45_000
/**
 * After this time without a quorum, no request may be served. Until then, a commit that has begun may still succeed.
 */
const MAX_SERVED_MILLIS = 15_000
/** The time within which the gateways must serve again, and within which the last requests must end. */
const RETURN_MILLIS = 600_000
const SERVED_AGAIN = 20

const print = (text: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
const directory = ownDirectory(mkdtempSync(join(tmpdir(), "tollgate-failover-")))
const processes = new Processes(join(directory, "logs"))
const upstream = await ScriptedUpstream.start()
upstream.always(asPlayed())
const faults: Array<string> = []
const outages: Array<number> = []
/** The number of streams that delivered output at each kill. */
const streamsAtKills: Array<number> = []
let gateways: Gateways | undefined
/** After SIGTERM, the trial kills no further node, and checks the charges so far. */
let isStopped = false
process.once("SIGTERM", () => {
  isStopped = true
})

const servedAgain = (load: RequestLoad, sinceMillis: number) =>
  eventually("served requests", RETURN_MILLIS, async () => load.servedSince(sinceMillis) >= SERVED_AGAIN)

/** Kills the primary, and waits until requests are served and the killed node has rejoined. */
const failOver = async (cluster: PatroniCluster, load: RequestLoad, nth: number): Promise<void> => {
  await sleep(CALM_MILLIS)
  upstream.requests.splice(0)
  streamsAtKills.push(load.streaming)
  const atMillis = activeMillis()
  const killed = await cluster.killPrimary()
  await cluster.untilNewPrimary(killed)
  const promotedMillis = activeMillis() - atMillis
  await servedAgain(load, activeMillis())
  const outage = load.gapMillis(atMillis, activeMillis())
  outages.push(outage)
  cluster.restart()
  await cluster.untilComplete()
  print(
    `kill ${nth} of ${kills}: ${killed}; new primary seen after ${seconds(promotedMillis)}, ` +
      `without service ${seconds(outage)}, three nodes after ${seconds(activeMillis() - atMillis)}`
  )
}

/** Kills nodes, checks that no request is served without them, restarts them, and waits until requests are served. */
const loseQuorum = async (
  what: string,
  cluster: PatroniCluster,
  load: RequestLoad,
  kill: () => Promise<ReadonlyArray<string>>
): Promise<void> => {
  await sleep(CALM_MILLIS)
  const atMillis = activeMillis()
  const killed = await kill()
  await sleep(LOST_MILLIS)
  const backMillis = activeMillis()
  const lateMillis = atMillis + MAX_SERVED_MILLIS
  const late = load.received.filter(
    // A stream that began earlier may continue until its hold is used up.
    ({ beganAtMillis, endedAtMillis, status, streamed }) =>
      status === 200 && (streamed ? beganAtMillis : endedAtMillis) > lateMillis && endedAtMillis < backMillis
  )
  if (late.length > 0) faults.push(`${what}: ${late.length} responses were served without a quorum`)
  const refused = load.received.filter(({ endedAtMillis, status }) => status === 503 && endedAtMillis > atMillis)
  if (refused.length === 0) faults.push(`${what}: no request was refused with 503`)
  cluster.restart()
  await servedAgain(load, backMillis)
  const outage = load.gapMillis(atMillis, activeMillis())
  print(
    `${what}: ${killed.join(" and ")} dead for ${seconds(LOST_MILLIS)}; ${refused.length} requests refused with 503, ` +
      `${late.length} served; served again ${seconds(atMillis + outage - backMillis)} after the restart of the nodes`
  )
  await cluster.untilComplete()
}

const seconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`

const median = (sorted: ReadonlyArray<number>): number => {
  const at = (index: number): number => sorted[index] ?? 0
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2
}

const cluster = await PatroniCluster.make(processes, directory)

try {
  await cluster.start()
  print("three nodes run")
  const url = values.pgbouncer ? await cluster.startPgBouncer() : cluster.url
  gateways = await Gateways.start(url, upstream.baseUrl, directory)
  print(`two gateways serve${values.pgbouncer ? ", through PgBouncer" : ""}`)
  const requests = new RequestLoad(gateways.urls, gateways.key)
  const operations = new ResellerLoad(gateways)
  try {
    for (let nth = 1; nth <= kills && !isStopped; nth++) await failOver(cluster, requests, nth)
    if (values["quorum-lost"] && !isStopped)
      await loseQuorum("quorum lost", cluster, requests, () => cluster.killMajority())
    if (values["standbys-lost"] && !isStopped)
      await loseQuorum("standbys lost", cluster, requests, () => cluster.killStandbys())
  } catch (error) {
    faults.push(`${String(error)} (${await cluster.described()})`)
  }
  if (outages.length < kills) faults.push(`the trial ended after ${outages.length} of ${kills} kills`)
  if (streamsAtKills.includes(0)) faults.push("no stream ran at one of the kills")
  const ended = Promise.all([requests.stop(), operations.stop()]).then(() => true)
  await eventually("the end of all requests", RETURN_MILLIS, () => Promise.race([ended, sleep(1_000, false)]))
  await eventually("the last settlements", RETURN_MILLIS, async () => (await openRequests(cluster.url)) === 0)
  const charges = await checkCharges(cluster.url, requests.received)
  const operated = await checkOperations(cluster.url, gateways, operations)
  faults.push(...charges.faults, ...operated.faults, ...(await audited(gateways)))
  if (gateways.dead > 0) faults.push(`${gateways.dead} gateways have ended by themselves`)
  const sorted = [...outages].sort((a, b) => a - b)
  const figures = {
    machine: `${availableParallelism()} CPUs (${cpus()[0]?.model ?? "unknown"})`,
    ...(kills > 0
      ? {
          "kills of the primary": outages.length,
          "time without service, median": seconds(median(sorted)),
          "time without service, worst": seconds(sorted.at(-1) ?? 0),
          "streams that delivered output at a kill, fewest": Math.min(...streamsAtKills)
        }
      : {}),
    ...charges.figures,
    ...operated.figures,
    "pauses of the whole trial by the machine": seconds(pausesMillis()),
    faults: faults.length
  }
  for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name}: ${value}\n`)
} catch (error) {
  faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
} finally {
  await gateways?.stop()
  await cluster.stop()
  await processes.endAll()
  await upstream.close().catch(() => {})
  for (const fault of faults.slice(0, 20)) process.stdout.write(`FAULT: ${fault}\n`)
  if (values.keep || faults.length > 0) print(`the logs are in ${directory}`)
  else rmSync(directory, { recursive: true, force: true })
  // A request that never ends would keep this process alive.
  process.exit(faults.length === 0 ? 0 : 1)
}
