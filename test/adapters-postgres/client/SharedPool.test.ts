import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Effect, Fiber, Layer } from "effect"
import * as Pg from "pg"
import * as TestDatabase from "../../support/TestDatabase.ts"

/** A pool of 6 connections, of which parties use 4. */
const shared = (settings: Pg.ClientConfig) =>
  Layer.orDie(PgPool.sharedLayer({ maxConnections: 6 })).pipe(Layer.provide(PgSettings.layer(settings)))

const as = (party: string) => Effect.provideService(CurrentParty, party)
const LOCKED = "SELECT pg_advisory_xact_lock(4711)"

describe("a shared pool of connections", () => {
  it.scopedLive("serves a party while another party waits for locks", () =>
    Effect.gen(function* () {
      const { settings } = yield* TestDatabase.make("empty")
      const session = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new Pg.Client(settings)
          await client.connect()
          await client.query("SELECT pg_advisory_lock(4711)")
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const waiting = yield* Effect.forEach(Array.from({ length: 20 }), (_, i) => {
          const statement = sql.unsafe(LOCKED)
          return Effect.fork(as("one")(i % 2 === 0 ? statement : sql.withTransaction(statement)))
        })
        const busy = Effect.map(
          as("another")(sql<{ count: number }>`SELECT count(*)::int FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database
            WHERE datname = current_database())`),
          ([row]) => row?.count ?? 0
        )
        yield* Effect.repeat(busy, { until: (count) => count >= 2 })
        yield* Effect.sleep("50 millis")
        expect(yield* busy).toBe(2)
        expect(yield* as("another")(sql.withTransaction(sql`SELECT 1 AS served`))).toEqual([{ served: 1 }])
        yield* Effect.promise(() => session.query("SELECT pg_advisory_unlock(4711)"))
        yield* Fiber.joinAll(waiting)
      }).pipe(Effect.provide(shared(settings)))
    })
  )

  it.scopedLive("releases the share when no connection can be opened", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (let i = 0; i < 10; i++) {
        expect((yield* Effect.flip(as("one")(sql`SELECT 1`)))._tag).toBe("SqlError")
        expect((yield* Effect.flip(as("one")(sql.withTransaction(sql`SELECT 1`))))._tag).toBe("SqlError")
      }
    }).pipe(Effect.provide(shared(PgSettings.fromSocket("/nonexistent"))))
  )
})
