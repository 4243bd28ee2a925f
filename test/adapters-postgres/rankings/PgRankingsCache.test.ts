import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgRankingsCache from "@tollgate/adapters-postgres/rankings/PgRankingsCache"
import { RankingsCache } from "@tollgate/application/rankings/ReadRankings"
import { type RankingsByWindow, rankWindows } from "@tollgate/domain/rankings/RankUsage"
import { historyQueryFor } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf, Window } from "@tollgate/domain/rankings/Window"
import { Context, Deferred, Effect, Fiber, Layer, Schedule } from "effect"
import * as BelievableHistory from "../../support/rankings/BelievableHistory.ts"
import { ranksOf } from "../../support/rankings.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"

const unbounded = { concurrency: "unbounded" } as const

const aNodeOf = (database: TestDatabase.Database) =>
  Effect.map(
    Layer.build(PgRankingsCache.layer.pipe(Layer.provide(TestDatabase.clientLayer(database)))),
    Context.get(RankingsCache)
  )
const aNode = Effect.flatMap(TestDatabase.TestDatabase, aNodeOf)

const rankings = (now: Date, windows: ReadonlyArray<Window> = Window.literals): RankingsByWindow =>
  new Map(windows.map((window) => [window, ranksOf({ models: [], settlements: [] }, window, now)]))

const counting = () => {
  const computed: Array<Date> = []
  const compute = (now: Date) => Effect.sync(() => void computed.push(now)).pipe(Effect.as(rankings(now)))
  return { computed, compute }
}

/** Makes the stored documents one minute older. */
const age = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE rankings_document SET generated_at = generated_at - interval '1 minute'`
)

const lockWaits = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ pid: number; holds: boolean }>`SELECT pid, granted AS holds FROM pg_locks
      WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    (rows) => ({
      waiting: rows.filter(({ holds }) => !holds).length,
      holders: rows.filter(({ holds }) => holds).map(({ pid }) => pid)
    })
  )
)

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("5 millis") }))

/** Waits until at least three seconds of the current minute are left. */
const earlyInTheMinute = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  until(
    Effect.map(
      sql<{ early: boolean }>`SELECT extract(second FROM clock_timestamp()) < 57 AS early`,
      ([row]) => row?.early === true
    )
  )
)

describe("the rankings cache", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.scoped("computes the documents once for 40 requests on two nodes", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        const nodes = yield* Effect.all([aNode, aNode])
        const { compute, computed } = counting()
        const requests = Array.from({ length: 40 }, (_, i) => nodes[i % 2]?.take(compute) ?? Effect.die("no node"))
        const documents = yield* Effect.all(requests, unbounded)
        expect(computed).toHaveLength(1)
        const [first] = documents
        for (const each of documents) expect(each).toEqual(first)
        // All requests on one node return the same object.
        expect(new Set(documents).size).toBe(2)
        expect(first?.get("week")?.generatedAt).toEqual(computed[0])
      })
    )

    it.scoped("completes a computation beyond the timeout of idle transactions", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        const database = yield* TestDatabase.TestDatabase
        const settings = { ...database.settings, idle_in_transaction_session_timeout: 50 }
        const node = yield* aNodeOf({ ...database, settings })
        yield* age
        const made = yield* node.take((now) => Effect.delay(Effect.succeed(rankings(now)), "300 millis"))
        expect(yield* node.inMemory("week")).toBe(made.get("week"))
      })
    )

    it.scoped("returns no document of an earlier minute", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        const sql = yield* SqlClient.SqlClient
        const { compute, computed } = counting()
        const node = yield* aNode
        expect(yield* node.inMemory("week")).toBeUndefined()
        const made = yield* node.take(compute)
        for (const window of Window.literals) expect(yield* node.inMemory(window)).toBe(made.get(window))
        const before = computed.length
        yield* age
        const other = yield* aNode
        const fresh = yield* other.take(compute)
        expect(computed).toHaveLength(before + 1)
        const [{ now } = { now: new Date(0) }] = yield* sql<{ now: Date }>`SELECT clock_timestamp() AS now`
        for (const { generatedAt } of fresh.values()) expect(minuteOf(generatedAt)).toEqual(minuteOf(now))
        expect(yield* sql`SELECT period FROM rankings_document ORDER BY 1`).toEqual(
          ["all", "day", "month", "week"].map((period) => ({ period }))
        )
      })
    )

    it.scoped("does not mix the documents of two minutes", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        yield* (yield* aNode).take((now) => Effect.succeed(rankings(now)))
        yield* age
        const [one, two] = yield* Effect.all([aNode, aNode])
        yield* one.take((now) => Effect.succeed(rankings(now, ["day"])))
        for (const node of [one, two]) {
          expect([...(yield* node.take(() => Effect.die("computed again"))).keys()]).toEqual(["day"])
          expect(yield* node.inMemory("all")).toBeUndefined()
        }
        yield* age
      })
    )

    it.scoped("returns documents on another node exactly as they were computed", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        const [one, two] = yield* Effect.all([aNode, aNode])
        const made = yield* one.take((now) =>
          Effect.succeed(
            rankWindows(
              BelievableHistory.read((firstUse) => historyQueryFor(now, firstUse)),
              now
            )
          )
        )
        expect(made.get("all")?.fastest.length).toBeGreaterThan(2)
        expect(yield* two.take(() => Effect.die("computed again"))).toEqual(made)
        yield* age
      })
    )

    it.scoped("computes the documents at the next request after failed computations", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        const node = yield* aNode
        expect(yield* Effect.flip(node.take(() => Effect.fail("no figures")))).toBe("no figures")
        expect((yield* Effect.exit(node.take(() => Effect.die("broken"))))._tag).toBe("Failure")
        const { compute, computed } = counting()
        yield* node.take(compute)
        expect(computed).toHaveLength(1)
      })
    )

    it.scoped("computes the documents after the computing node has lost its connection", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        yield* age
        const sql = yield* SqlClient.SqlClient
        const [dying, other] = yield* Effect.all([aNode, aNode])
        const never = yield* Deferred.make<RankingsByWindow>()
        const first = yield* Effect.fork(dying.take(() => Deferred.await(never)))
        yield* until(Effect.map(lockWaits, ({ holders }) => holders.length === 1))
        const { compute, computed } = counting()
        const second = yield* Effect.fork(other.take(compute))
        yield* until(Effect.map(lockWaits, ({ waiting }) => waiting === 1))
        expect(computed).toEqual([])
        for (const pid of (yield* lockWaits).holders) yield* sql`SELECT pg_terminate_backend(${pid})`
        const documents = yield* Fiber.join(second)
        expect(documents.get("day")?.generatedAt).toEqual(computed[0])
        yield* Deferred.succeed(never, documents)
        yield* Fiber.interrupt(first)
      })
    )

    it.scoped("continues a computation when its request is interrupted", () =>
      Effect.gen(function* () {
        yield* earlyInTheMinute
        yield* age
        const node = yield* aNode
        const going = yield* Deferred.make<void>()
        const request = yield* Effect.fork(node.take((now) => Effect.as(Deferred.await(going), rankings(now))))
        yield* until(Effect.map(lockWaits, ({ holders }) => holders.length === 1))
        yield* Fiber.interrupt(request)
        const next = yield* Effect.fork(node.take(() => Effect.die("computed again")))
        yield* Deferred.succeed(going, undefined)
        expect([...(yield* Fiber.join(next)).keys()]).toEqual(Window.literals)
      })
    )
  })
})
