/**
 * Provides the connection pool that all stores share: Effect's SQL client over node-postgres.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pg from "pg"
import { PgSettings } from "./PgSettings.ts"

export interface PgPoolOptions {
  /** Maximum number of connections. At least 2 are used, because cancelling a statement needs a second connection. */
  readonly maxConnections: number
}

/**
 * Time after which an idle connection is closed. A new connection must load the system catalog entries of every table
 * that it reads. This time is longer than the minute between two computations of the rankings, so the computations
 * reuse open connections.
 */
const IDLE_MILLIS = 5 * 60_000

/** Opens the first connection at the first statement, so a server can start while the database is down. */
export const layer = (
  { maxConnections }: PgPoolOptions = { maxConnections: 10 }
): Layer.Layer<PgClient.PgClient | SqlClient, never, PgSettings> =>
  Effect.map(PgSettings, (settings) =>
    PgClient.layerFromPool({
      acquire: Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new Pg.Pool({ ...settings, max: Math.max(2, maxConnections), idleTimeoutMillis: IDLE_MILLIS })
          // The pool replaces an idle connection that is lost. Without a listener, the error event would end the
          // process.
          pool.on("error", () => {})
          return pool
        }),
        (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("2 seconds"))
      )
    })
  ).pipe(Layer.unwrapEffect, Layer.orDie)
