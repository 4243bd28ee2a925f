import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import {
  closeSilentConnections,
  ResponseTimeout,
  withoutTimeLimits
} from "@tollgate/adapters-postgres/client/ResponseTimeout"
import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { transact } from "@tollgate/adapters-postgres/client/Transact"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import { DatabasePools, OpenPools } from "@tollgate/application/operations/DatabasePools"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import * as Pg from "pg"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "./Cable.ts"

const pools = new OpenPools()
const openConnections = (name: string) => pools.loads.find((load) => load.name === name)?.open

/** Opens a pool whose connections are closed after 3 seconds without a response. */
const poolOf = (name: string, settings: Pg.ClientConfig) =>
  Effect.map(
    Layer.build(
      Layer.orDie(PgPool.layer({ name, maxConnections: 3 })).pipe(Layer.provide(PgSettings.layer(settings)))
    ).pipe(Effect.provideService(ResponseTimeout, 3_000), Effect.provideService(DatabasePools, pools)),
    Context.get(SqlClient.SqlClient)
  )

describe.concurrent("a database connection without responses", () => {
  it.scopedLive("is closed after the timeout", () =>
    Effect.gen(function* () {
      const { settings } = yield* TestDatabase.make("empty")
      const cable = yield* Cable.scoped(settings)
      const sql = yield* poolOf("frozen", cable.settings)
      const both = Effect.all([Effect.exit(sql`SELECT 1 AS one`), Effect.exit(transact(sql`SELECT 2 AS two`))], {
        concurrency: 2
      }).pipe(Effect.provideService(SqlClient.SqlClient, sql))
      yield* both
      expect(openConnections("frozen")).toBe(2)

      cable.freeze()
      const [statement, transaction] = yield* both
      expect(statement).toEqual(Exit.fail(expect.objectContaining({ cause: expect.any(ConnectionLost) })))
      expect(transaction).toEqual(Exit.die(expect.any(DatabaseUnavailable)))
      expect(openConnections("frozen")).toBe(0)

      cable.mend()
      expect(yield* both).toEqual([Exit.succeed([{ one: 1 }]), Exit.succeed([{ two: 2 }])])
    })
  )

  it.scopedLive("stays open while no statement runs", () =>
    Effect.gen(function* () {
      const { settings } = yield* TestDatabase.make("empty")
      const pool = yield* Effect.acquireRelease(
        Effect.sync(() => new Pg.Pool({ ...settings, max: 1 })),
        (open) => Effect.promise(() => open.end())
      )
      closeSilentConnections(pool, 60_000)
      const opened: Array<Pg.PoolClient> = []
      pool.on("connect", (client) => opened.push(client))
      yield* Effect.promise(() => pool.query("SELECT 1"))

      opened[0]?.connection.stream.emit("timeout")
      const { rows } = yield* Effect.promise(() => pool.query("SELECT pg_sleep(0.1), 2 AS two"))
      expect(rows).toMatchObject([{ two: 2 }])
      expect(opened).toHaveLength(1)
    })
  )

  it.scopedLive("stays open during a transaction without time limits", () =>
    Effect.gen(function* () {
      const { settings } = yield* TestDatabase.make("empty")
      const sql = yield* poolOf("limited", settings)
      const other = yield* poolOf("other", settings)
      const session = yield* other.reserve
      const hold = session.executeRaw("SELECT pg_advisory_lock(4711)", [])
      const release = session.executeRaw("SELECT pg_advisory_unlock(4711)", [])
      const locked = sql`SELECT pg_advisory_xact_lock(4711)`
      const waiting = other`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

      yield* hold
      const long = yield* Effect.fork(
        sql
          .withTransaction(Effect.zipRight(withoutTimeLimits, locked))
          .pipe(Effect.provideService(SqlClient.SqlClient, sql))
      )
      yield* Effect.repeat(waiting, { until: (rows) => rows.length === 1 })
      // The long transaction has waited for longer than this statement.
      expect((yield* Effect.flip(locked)).cause).toBeInstanceOf(ConnectionLost)
      yield* release
      yield* Fiber.join(long)

      expect(openConnections("limited")).toBe(1)
      yield* hold
      expect((yield* Effect.flip(locked)).cause).toBeInstanceOf(ConnectionLost)
      yield* release
    })
  )
})
