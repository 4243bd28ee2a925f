import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { type Admission, InferenceLedger, type Measured } from "@tollgate/application/ledger/InferenceLedger"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import type { Model } from "@tollgate/domain/catalog/Model"
import { type Ending, nothing } from "@tollgate/domain/inference/Charge"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { uuidV7 } from "@tollgate/domain/operations/UuidV7"
import { Context, Effect, Fiber, Layer, Schedule } from "effect"
import * as Pg from "pg"
import { storeModels, storeSettlements } from "../../support/rankings/StoredUsage.ts"
import { aModel, aSettlement, DAY } from "../../support/rankings.ts"
import * as Stores from "../../support/Stores.ts"
import { clientLayer, TestDatabase } from "../../support/TestDatabase.ts"

const unbounded = { concurrency: "unbounded" } as const
const HOUR = 3_600_000

const aNode = Effect.gen(function* () {
  const database = yield* TestDatabase
  const built = yield* Layer.build(
    Layer.merge(PgInferenceLedger.layer().pipe(Layer.provide(PgNodes.layer)), PgUsageRollUps.layer).pipe(
      Layer.provideMerge(clientLayer(database))
    )
  )
  return { ledger: Context.get(built, InferenceLedger), rollUps: Context.get(built, UsageRollUps) }
})

const models = Effect.gen(function* () {
  const catalogs = yield* Catalogs
  yield* catalogs.apply(Stores.catalogOf(...["a", "b", "c"].map((name) => ({ public_name: name }))), Stores.operator)
  return (yield* catalogs.load).models.filter(({ publicName }) => ["a", "b", "c"].includes(publicName))
})

const usage = (input: bigint, cacheWrite: bigint, cacheRead: bigint, output: bigint) => ({
  input: Tokens(input),
  cacheWrite: Tokens(cacheWrite),
  cacheRead: Tokens(cacheRead),
  output: Tokens(output)
})

const measured = (ending: Ending): Measured => {
  const consumed = usage(5n, 3n, 100n, 2n)
  const charged = ending === "failed" ? nothing.charged : consumed
  return { ending, charge: { charged, consumed, source: "upstream" }, ttftMillis: 12, durationMillis: 345 }
}

const serve = (ledger: InferenceLedger["Type"], admission: Admission, ending: Ending) =>
  Effect.zipRight(
    Effect.async<void, unknown>((resume) => ledger.admit(admission, resume)),
    Effect.async<unknown>((resume) => ledger.settle({ admission, measure: () => measured(ending) }, resume))
  )

const aRequest = (principal: Admission["principal"], model: Model, streamed: boolean): Admission => ({
  requestId: RequestId(uuidV7(Date.now(), randomBytes(10))),
  principal,
  modelId: model.id,
  priceId: model.priceId,
  price: model.price,
  protocol: "chat",
  streamed,
  estimate: { inputFloor: Tokens(1n), inputCeiling: Tokens(1n), output: Tokens(1n) }
})

const aPrincipal = Effect.gen(function* () {
  const user = yield* Stores.aPayer(1_000_000n)
  const { key } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
  return { keyId: key.id, userId: user.id }
})

/** Reads the tokens per model, from folded rows and from rows that are not folded. */
const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string; tokens: bigint }>`
    SELECT public_name AS name, sum(tokens)::bigint AS tokens FROM (
      SELECT model_id, tokens FROM usage_rollup WHERE grain = 'day' UNION ALL SELECT model_id, tokens FROM usage_delta) AS counted
    JOIN model ON model.id = model_id GROUP BY 1`
  return new Map(rows.map(({ name, tokens }) => [name, tokens]))
})

const rows = (table: "usage_delta" | "usage_rollup" | "speed_rollup") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql.unsafe(`SELECT * FROM ${table} ORDER BY 1, 2, 3`), (found) => found)
  )

const waiting = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ pid: number }>`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
)

/** Opens a separate connection, on which a test can hold locks. */
const aConnection = Effect.gen(function* () {
  const { settings } = yield* TestDatabase
  const client = new Pg.Client(settings)
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect()),
    () => Effect.promise(() => client.end())
  )
  return client
})

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("5 millis") }))

describe("usage roll-ups", () => {
  layer(PgUsageRollUps.layer.pipe(Layer.provideMerge(Stores.layer)), { excludeTestServices: true })((it) => {
    it.scoped("contain the usage of every request while nodes settle and fold concurrently", () =>
      Effect.gen(function* () {
        const all = yield* models
        const nodes = yield* Effect.all([aNode, aNode])
        const principals = yield* Effect.all([aPrincipal, aPrincipal, aPrincipal])
        const endings: ReadonlyArray<Ending> = [
          "complete",
          "failed",
          "client_gone",
          "upstream_cut",
          "balance_exhausted"
        ]
        const folding = yield* Effect.fork(
          Effect.forever(Effect.forEach(nodes, ({ rollUps }) => rollUps.fold, unbounded))
        )
        const requests = Array.from({ length: 240 }, (_, i) => i)
        yield* Effect.forEach(
          requests,
          (i) => {
            const [node, principal, model] = [nodes[i % 2], principals[i % 3], all[i % all.length]]
            if (node === undefined || principal === undefined || model === undefined)
              return Effect.die("a node, a principal or a model is missing")
            return serve(
              node.ledger,
              aRequest(principal, model, i % 5 !== 0),
              endings[Math.trunc(i / 6) % endings.length] ?? "complete"
            )
          },
          { concurrency: 40 }
        )
        // Each request counts 10 tokens. Cache reads are not counted, but failed requests are counted.
        expect(yield* counted).toEqual(new Map(["a", "b", "c"].map((name) => [name, 800n])))
        yield* Fiber.interrupt(folding)
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* (yield* UsageRollUps).fold
        expect(yield* rows("usage_delta")).toEqual([])
        expect(yield* counted).toEqual(new Map(["a", "b", "c"].map((name) => [name, 800n])))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("count each row once when a connection is lost during a fold", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { fold } = yield* UsageRollUps
        const node = yield* aNode
        const settled = aSettlement("dying", new Date(), 7)
        yield* storeModels([aModel("dying")])
        yield* storeSettlements([settled])
        yield* fold
        yield* storeSettlements([settled])
        const before = yield* counted
        // Another session locks the row that the fold updates, until the fold is killed.
        const locker = yield* aConnection
        yield* Effect.promise(() => locker.query("BEGIN; SELECT FROM usage_rollup FOR UPDATE"))
        const folding = yield* Effect.fork(Effect.exit(node.rollUps.fold))
        yield* until(Effect.map(waiting, ({ length }) => length === 1))
        expect(yield* fold).toBe(0)
        for (const { pid } of yield* waiting) yield* sql`SELECT pg_terminate_backend(${pid})`
        expect((yield* Fiber.join(folding))._tag).toBe("Failure")
        yield* Effect.promise(() => locker.query("ROLLBACK"))
        expect(yield* counted).toEqual(before)
        expect(yield* rows("usage_delta")).toHaveLength(1)
        expect(yield* fold).toBe(1)
        expect(yield* counted).toEqual(before)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are rebuilt from the settlements while further requests settle", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { fold, rebuild } = yield* UsageRollUps
        const { rollUps } = yield* aNode
        const now = Date.now()
        yield* storeModels([aModel("old")])
        const history = Array.from({ length: 60 }, (_, i) =>
          aSettlement("old", new Date(now - i * 5 * HOUR), 100 + i, { streamed: true, ttftMillis: 40 + i })
        )
        yield* storeSettlements(history, "uncounted")
        expect(yield* Stores.brokenInvariants).toEqual(["usage-is-settled", "speeds-are-settled"])
        const coming = yield* Effect.fork(
          Effect.forever(
            Effect.zipRight(storeSettlements([aSettlement("old", new Date(now - DAY), 1)]), Effect.exit(rollUps.fold))
          )
        )
        const rebuilt = yield* rebuild
        expect(rebuilt.days).toBeGreaterThanOrEqual(13)
        expect(rebuilt.corrected).toBeGreaterThanOrEqual(60)
        yield* Fiber.interrupt(coming)
        expect(yield* Stores.brokenInvariants).toEqual([])

        yield* fold
        const [sums, speeds] = [yield* rows("usage_rollup"), yield* rows("speed_rollup")]
        const newest = (table: string) =>
          `(grain, start) = (SELECT grain, start FROM ${table} ORDER BY 2 DESC, 1 LIMIT 1)`
        yield* sql.unsafe(`UPDATE usage_rollup SET tokens = tokens + 1 WHERE ${newest("usage_rollup")}`)
        // The test stored usage at intervals of five hours. Nine days are not a multiple of five hours, so this hour
        // has no usage.
        yield* sql`INSERT INTO usage_rollup
          SELECT grain, start - interval '9 days', model_id, 1 FROM usage_rollup
          WHERE grain = 'hour' ORDER BY start DESC LIMIT 1`
        yield* sql.unsafe(`DELETE FROM speed_rollup WHERE ${newest("speed_rollup")}`)
        expect((yield* rebuild).corrected).toBeGreaterThanOrEqual(2)
        expect(yield* rows("usage_rollup")).toEqual(sums)
        expect(new Set(yield* rows("speed_rollup"))).toEqual(new Set(speeds))
        expect((yield* rebuild).corrected).toBe(0)
      })
    )

    it.scoped("count a request once if it is settled during a rebuild", () =>
      Effect.gen(function* () {
        const { rebuild } = yield* UsageRollUps
        const { rollUps } = yield* aNode
        const settled = aSettlement("meanwhile", new Date(), 7)
        yield* storeModels([aModel("meanwhile")])
        yield* storeSettlements([settled])
        // The rebuild of the day waits for a locked row that it deletes.
        const locker = yield* aConnection
        yield* Effect.promise(() => locker.query("BEGIN; SELECT FROM usage_delta FOR UPDATE"))
        const rebuilding = yield* Effect.fork(rebuild)
        yield* until(Effect.map(waiting, ({ length }) => length === 1))
        yield* storeSettlements([settled])
        const folding = yield* Effect.fork(rollUps.fold)
        yield* Effect.promise(() => locker.query("ROLLBACK"))
        yield* Fiber.join(rebuilding)
        yield* Fiber.join(folding)
        expect((yield* counted).get("meanwhile")).toBe(14n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("keep minutes and hours of tokens for 61 days", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { fold, rebuild } = yield* UsageRollUps
        yield* storeModels([aModel("lasting")])
        const stream = { streamed: true, ttftMillis: 40 }
        const daysAgo = (days: number) => aSettlement("lasting", new Date(Date.now() - days * DAY), 5, stream)
        yield* storeSettlements([7, 61, 63, 70].map(daysAgo))
        yield* sql`INSERT INTO usage_rollup SELECT 'minute', cell_of('minute', now() - interval '63 days'), id, 5
          FROM model WHERE public_name = 'lasting'`
        yield* sql`INSERT INTO speed_rollup SELECT 'day', cell_of('day', now() - interval '63 days'), id, 'tps', '{3}', '{1}'
          FROM model WHERE public_name = 'lasting'`
        yield* fold
        const kept = (table: string) =>
          Effect.map(
            sql.unsafe<{ grain: string; ages: ReadonlyArray<number> }>(
              `SELECT grain, array_agg(DISTINCT round(extract(epoch FROM now() - start) / 86400)::int) AS ages FROM ${table}
              JOIN model ON model.id = model_id WHERE public_name = 'lasting' GROUP BY 1`
            ),
            (found) => Object.fromEntries(found.map(({ grain, ages }) => [grain, ages.length]))
          )
        for (const again of [fold, rebuild]) {
          expect(yield* kept("usage_rollup")).toEqual({ minute: 2, hour: 2, day: 4 })
          expect(yield* kept("speed_rollup")).toEqual({ minute: 1, hour: 1, day: 1 })
          expect(yield* Stores.brokenInvariants).toEqual([])
          yield* again
        }
      })
    )

    const oneOf = (table: string, grain: string) => `
      ctid = (SELECT ctid FROM ${table} WHERE grain = '${grain}' ORDER BY start DESC LIMIT 1)`
    const corruptions = {
      "an extra token in a minute": `UPDATE usage_rollup SET tokens = tokens + 1 WHERE ${oneOf("usage_rollup", "minute")}`,
      "a missing hour": `DELETE FROM usage_rollup WHERE ${oneOf("usage_rollup", "hour")}`,
      "a missing token in a day": `UPDATE usage_rollup SET tokens = tokens - 1 WHERE ${oneOf("usage_rollup", "day")}`,
      "a row that is counted twice": `
        INSERT INTO usage_delta SELECT start, model_id, tokens, '{}', '{}' FROM usage_rollup WHERE grain = 'minute' LIMIT 1`,
      "an extra sample in a speed": `
        UPDATE speed_rollup SET samples[1] = samples[1] + 1 WHERE ${oneOf("speed_rollup", "hour")}`,
      "a day without its speeds": `DELETE FROM speed_rollup WHERE ${oneOf("speed_rollup", "day")}`
    }
    for (const [what, corruption] of Object.entries(corruptions)) {
      it.scoped(`fail the audit with ${what}`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const broken = yield* sql.unsafe(corruption).pipe(
            Effect.zipRight(Stores.brokenInvariants),
            Effect.tap(() => Effect.flatMap(UsageRollUps, ({ rebuild }) => rebuild))
          )
          expect(broken).toEqual([what.includes("speed") ? "speeds-are-settled" : "usage-is-settled"])
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }

    it.effect("assign speeds to buckets with an error below 1 %", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ inexact: bigint; far: bigint; unordered: bigint }>`
          WITH value AS (
            SELECT n FROM generate_series(0, 20000) AS n
            UNION ALL SELECT (1.01 ^ i)::bigint + off FROM generate_series(500, 2070) AS i, generate_series(-1, 1) AS off),
          placed AS (
            SELECT n, speed_of_bucket(speed_bucket(n)) AS middle,
              speed_bucket(n) < lag(speed_bucket(n)) OVER (ORDER BY n) AS unordered FROM value)
          SELECT count(*) FILTER (WHERE n < 100 AND middle <> n) AS inexact,
            count(*) FILTER (WHERE abs(middle - n) >= 0.01 * greatest(n, 1)) AS far,
            count(*) FILTER (WHERE unordered) AS unordered
          FROM placed`
        expect(row).toEqual({ inexact: 0n, far: 0n, unordered: 0n })
      })
    )
  })
})
