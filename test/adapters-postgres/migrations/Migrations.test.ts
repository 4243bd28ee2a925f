import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/stores/PgUsageRollUps"
import { UsageRollUps } from "@tollgate/application/ports/UsageRollUps"
import { Effect, Layer } from "effect"
import { longHistory } from "../../bench/LongHistory.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"

describe("migrations", () => {
  it.scopedLive("bring an empty database to the schema, once", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const names = Migrations.migrations.map(({ name }) => name)
        expect(yield* Migrations.pending()).toEqual(names)
        expect(yield* Migrations.migrate()).toEqual(names)
        expect(yield* Migrations.pending()).toEqual([])
        expect(yield* Migrations.migrate()).toEqual([])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("are applied once when several nodes start at the same moment", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      const node = Migrations.migrate().pipe(Effect.provide(TestDatabase.clientLayer(database)))
      const applied = yield* Effect.all([node, node, node, node], { concurrency: "unbounded" })
      expect(applied.flat()).toEqual(Migrations.migrations.map(({ name }) => name))
    })
  )

  it.scopedLive("apply all missing steps or none", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const steps = [
          ...Migrations.migrations,
          { name: "9998_fine", statements: "CREATE TABLE later (id int)" },
          { name: "9999_broken", statements: "CREATE TABLE broken (id nonsense)" }
        ]
        const exit = yield* Effect.exit(Migrations.migrate(steps))
        expect(exit._tag).toBe("Failure")
        const sql = yield* SqlClient.SqlClient
        expect(yield* sql`SELECT to_regclass('later') AS later`).toEqual([{ later: null }])
        expect(yield* Migrations.pending(steps)).toEqual(["9998_fine", "9999_broken"])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("count the usage of settlements that were there before", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      const before = Migrations.migrations.findIndex(({ name }) => name === "0007_usage_by_grain")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate(Migrations.migrations.slice(0, before))
        yield* sql.unsafe(longHistory(3_000))
        yield* Migrations.migrate()
        const grains = sql`SELECT grain, sum(tokens)::text AS tokens FROM usage_rollup GROUP BY 1 ORDER BY 1`
        const counted = yield* grains
        expect(counted.map(({ grain }) => grain)).toEqual(["day", "hour", "minute"])
        const { rebuild } = yield* UsageRollUps
        expect(yield* rebuild).toEqual({ days: expect.toSatisfy((days) => days >= 90), corrected: 0 })
        expect(yield* grains).toEqual(counted)
      }).pipe(Effect.provide(PgUsageRollUps.layer.pipe(Layer.provideMerge(TestDatabase.clientLayer(database)))))
    })
  )
})
