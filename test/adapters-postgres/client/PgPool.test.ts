import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Effect, Layer } from "effect"
import * as Pg from "pg"
import * as TestDatabase from "../../support/TestDatabase.ts"

describe("the connection pool", () => {
  it.scopedLive("replaces connections that Postgres has terminated", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ten = Effect.all(
          Array.from({ length: 10 }, () => sql`SELECT pg_sleep(0.01)`),
          { concurrency: 10 }
        )
        yield* ten
        yield* Effect.promise(async () => {
          const other = new Pg.Client(database.settings)
          await other.connect()
          const cut =
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
          await other.query(cut).finally(() => other.end())
        })
        // This process detects the end of a connection a moment later, so one statement on each connection may still
        // fail.
        yield* Effect.retry(ten, { times: 10 })
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("starts while the database is down", () =>
    Effect.gen(function* () {
      const nowhere = PgSettings.layer({ host: "127.0.0.1", port: 1, user: "nouser", database: "none" })
      const exit = yield* Effect.exit(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`).pipe(
          Effect.provide(PgPool.layer().pipe(Layer.provide(nowhere)))
        )
      )
      expect(String(exit)).toContain("Failed to acquire connection")
    })
  )
})
