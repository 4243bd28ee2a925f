/**
 * Measures the cost of the rankings with a long history (`npm run bench:rankings`). The history has a million
 * settlements over ninety days; `-- --settlements 100000` sets another number.
 *
 *   cold     the time to compute each window with a Postgres that has just started
 *   cached   the number of computed documents that a node sends in a second
 *   beside   the effect of the computation on the p99 latency of requests, and the number of documents of two nodes
 *
 * The figure `control` is the p99 latency while the documents are sent from memory.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { migrate } from "@tollgate/adapters-postgres/migrations/Migrations"
import * as PgRankingsCache from "@tollgate/adapters-postgres/rankings/PgRankingsCache"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/rankings/PgRankingsHistory"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { RankingsPolicy, readRankings } from "@tollgate/application/rankings/ReadRankings"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Layer } from "effect"
import * as Pg from "pg"
import { buildThisCheckout, readProgram, wholeNumber } from "../support/Program.ts"
import { canPin, SERVING_CPU, startBenchProcess } from "./BenchProcess.ts"
import { longHistory } from "./LongHistory.ts"
import { cachedRate, type Minute, underLoad, WINDOWS } from "./RankingsUnderLoad.ts"
import { isBuilt, startTollgate } from "./Tollgate.ts"

const SETTLEMENTS = readProgram({ settlements: wholeNumber("N", 1) }).values.settlements ?? 1_000_000
const MAX_COLD_MILLIS = 250
const MIN_CACHED_PER_SECOND = 5_000
const MAX_P99_RATIO = 1.05
const MINUTES = 6

buildThisCheckout()
const directory = mkdtempSync(join(tmpdir(), "tollgate-rankings-"))
const print = (text: string) => process.stdout.write(`${text}\n`)

/** Runs the work on a Postgres that has just started. */
const onFreshPostgres = <A, E>(work: (settings: Pg.ClientConfig) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.flatMap(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), ({ socketDir }) =>
      work(PgSettings.fromSocket(socketDir))
    )
  )

const pooled = (settings: Pg.ClientConfig) => PgPool.layer().pipe(Layer.provide(PgSettings.layer(settings)))

const timed = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(work), ([{ value }, result]) => {
    const millis =
      value._tag === "Millis" ? value.millis : value._tag === "Nanos" ? Number(value.nanos) / 1e6 : Infinity
    return { millis, result }
  })

const seeded = (settings: Pg.ClientConfig) =>
  Effect.gen(function* () {
    yield* migrate()
    yield* Effect.promise(async () => {
      const client = new Pg.Client({ ...settings, statement_timeout: 0 })
      await client.connect()
      await client.query(longHistory(SETTLEMENTS))
      await client.query("VACUUM ANALYZE settlement")
      await client.end()
    })
    const { rebuild } = yield* UsageRollUps
    const { millis, result } = yield* timed(rebuild)
    yield* Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(sql`ANALYZE`))
    print(
      `${SETTLEMENTS} settlements were summed in ${(millis / 1_000).toFixed(1)} s; cells written: ${result.corrected}`
    )
  }).pipe(Effect.provide(PgUsageRollUps.layer.pipe(Layer.provideMerge(pooled(settings)))))

const rankings = Layer.mergeAll(
  PgRankingsHistory.layer,
  PgRankingsCache.layer,
  Layer.succeed(RankingsPolicy, { enabled: true })
)

const measured = (window: string) =>
  onFreshPostgres((settings) =>
    Effect.gen(function* () {
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(sql`DELETE FROM rankings_document`))
      const cold = yield* timed(readRankings({ window }))
      const cached = yield* timed(readRankings({ window }))
      return { cold, cached }
    }).pipe(Effect.provide(rankings.pipe(Layer.provideMerge(pooled(settings)))))
  )

const verdict = (met: boolean, what: string): boolean => {
  print(`${met ? "met    " : "NOT MET"}  ${what}`)
  return met
}

const measureCold = Effect.gen(function* () {
  yield* onFreshPostgres(seeded)
  let slowest = 0
  for (const window of WINDOWS) {
    const { cached, cold } = yield* measured(window)
    const { fastest, leaderboard, totals } = cold.result
    slowest = Math.max(slowest, cold.millis)
    print(
      `${window.padEnd(5)}  cold ${cold.millis.toFixed(0).padStart(4)} ms  cached ${cached.millis.toFixed(3)} ms  ` +
        `${totals.tokens} tokens, ${leaderboard.length} models, ${fastest.length} with a speed`
    )
  }
  return verdict(
    slowest < MAX_COLD_MILLIS,
    `cold, the slowest window: ${slowest.toFixed(0)} ms (must be less than ${MAX_COLD_MILLIS})`
  )
})

const ms = (micros: number): string => (micros / 1_000).toFixed(1)

const printMinute = ({ cached, computed, computedMillis, p99Micros }: Minute) =>
  print(
    `minute  p99 ${ms(p99Micros)} ms; all windows computed in ${computedMillis} ms, meanwhile ${computed.requests} requests with p99 ` +
      `${ms(computed.p99Micros)} ms: x${computed.ratio.toFixed(3)}; control ${ms(cached.p99Micros)} ms: x${cached.ratio.toFixed(3)}`
  )

const served = async (): Promise<boolean> => {
  const upstream = await startBenchProcess<number>("MockUpstream.ts", SERVING_CPU)
  const node = await startTollgate(upstream.ready, directory)
  try {
    const rate = await cachedRate(node)
    const isFast = verdict(
      rate > MIN_CACHED_PER_SECOND,
      `cached, the slowest window: ${rate.toFixed(0)}/s (must be more than ${MIN_CACHED_PER_SECOND})`
    )
    print(`${MINUTES} minutes under load, both nodes get requests for all windows every five seconds ...`)
    const { documents, minutes, maxDocuments } = await underLoad(node, MINUTES)
    for (const minute of minutes) printMinute(minute)
    const worst = Math.max(...minutes.map(({ computed }) => computed.ratio))
    const isGentle = verdict(
      worst <= MAX_P99_RATIO,
      `beside, p99 of all requests of a minute, divided by the p99 of the requests outside the computation; worst minute: x${worst.toFixed(3)} (must be at most ${MAX_P99_RATIO})`
    )
    const isOnce = verdict(
      maxDocuments === 1,
      `two nodes: at most ${maxDocuments} documents per window and minute, in ${documents} pairs of window and minute (must be 1)`
    )
    return isFast && isGentle && isOnce
  } finally {
    await node.stop()
    await upstream.stop()
  }
}

if (canPin) spawnSync("taskset", ["-a", "-p", "-c", String(SERVING_CPU), String(process.pid)])
try {
  const isQuick = await Effect.runPromise(measureCold)
  const isServed = isBuilt() ? await served() : verdict(false, "apps/server is not built; run npm run build")
  process.exitCode = isQuick && isServed ? 0 : 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
