/**
 * Provides the connection pools of the stores: Effect's SQL client over node-postgres.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import { DatabasePools } from "@tollgate/application/operations/DatabasePools"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Pg from "pg"
import { ConnectionShares } from "./ConnectionShares.ts"
import { PgSettings } from "./PgSettings.ts"
import { closeSilentConnections, ResponseTimeout } from "./ResponseTimeout.ts"
import { ConnectionLost } from "./SqlErrorClass.ts"

export interface PgPoolOptions {
  /** Name of the pool in the metrics. */
  readonly name?: string
  /**
   * Maximum number of connections. 1 counts as 2, because the cancellation of a statement needs a second connection.
   */
  readonly maxConnections: number
}

/**
 * The number of connections that parties cannot use. They stay free for fibers without a party, such as background
 * tasks and the readiness probe.
 */
const UNSHARED_CONNECTIONS = 2

/**
 * Time after which an idle connection is closed. A new connection must load the system catalog entries of every table
 * that it reads. This time is longer than the minute between two computations of the rankings, so the computations
 * reuse open connections.
 */
const IDLE_MILLIS = 5 * 60_000

/** Opens the first connection at the first statement, so this layer can be built while the database is down. */
export const layer = (
  options: PgPoolOptions = { maxConnections: 10 }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, never, PgSettings> =>
  Effect.map(PgSettings, (settings) => PgClient.layerFromPool({ acquire: acquire(settings, options, () => 0) })).pipe(
    Layer.unwrapEffect,
    Layer.orDie
  )

/** Opens a pool. `queued` returns the number of callers that wait before they request a connection of the pool. */
const acquire = (
  settings: PgSettings["Type"],
  { maxConnections, name = "other" }: PgPoolOptions,
  queued: () => number
) => {
  const max = Math.max(2, maxConnections)
  return Effect.acquireRelease(
    Effect.map(ResponseTimeout, (responseTimeoutMillis) => {
      const pool = new Pg.Pool({ ...settings, max, idleTimeoutMillis: IDLE_MILLIS })
      // The pool replaces an idle connection that is lost. Without a listener, the error event would end the process.
      pool.on("error", () => {})
      closeSilentConnections(pool, responseTimeoutMillis)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("2 seconds"))
  ).pipe(
    Effect.tap((pool) =>
      Effect.flatMap(DatabasePools, (pools) =>
        pools.add(() => {
          const { idleCount, totalCount, waitingCount } = pool
          return { name, max, open: totalCount, idle: idleCount, waiting: waitingCount + queued() }
        })
      )
    )
  )
}

/** Divides the connections of a pool between the parties for which fibers work. */
export const sharedLayer = (
  options: PgPoolOptions
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, never, PgSettings> => {
  const shares = new ConnectionShares(options.maxConnections - UNSHARED_CONNECTIONS)
  const pooled = Effect.map(PgSettings, (settings) =>
    PgClient.layerFromPool({ acquire: acquire(settings, options, () => shares.waiting) })
  ).pipe(Layer.unwrapEffect, Layer.orDie)
  return Layer.flatMap(pooled, (pool) => {
    const client = Context.get(pool, PgClient.PgClient)
    const reserve = fairly(shares, client.reserve)
    return Layer.merge(
      Layer.succeedContext(pool),
      Layer.effect(
        SqlClient.SqlClient,
        SqlClient.make({
          acquirer: reserve,
          transactionAcquirer: reserve,
          compiler: PgClient.makeCompiler(),
          spanAttributes: [["db.system.name", "postgresql"]]
        })
      )
    )
  }).pipe(Layer.provide(Reactivity.layer))
}

/**
 * Reserves a connection for the current party. The region is uninterruptible, because the pool does not release a
 * connection whose reservation is interrupted; the pool's own timeout ends the wait.
 */
const fairly = (
  shares: ConnectionShares,
  reserve: Effect.Effect<Connection, SqlError, Scope.Scope>
): Effect.Effect<Connection, SqlError, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(
      shares.take,
      Option.match({
        onNone: () => Effect.fail(new SqlError({ cause: new ConnectionLost("no connection became free in time") })),
        onSome: (release) =>
          reserve.pipe(
            Effect.tapErrorCause(() => release),
            // `Effect.addFinalizer` would compare and copy all fiber refs twice per statement.
            Effect.tap(() => Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, release)))
          )
      })
    )
  )
