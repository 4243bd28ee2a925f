import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import { Effect } from "effect"
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
})
