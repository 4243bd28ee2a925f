/**
 * A pool of connections for the stores: provides the SQL client of Effect over node-postgres.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pg from "pg"
import { PgSettings } from "./PgSettings.ts"

export interface PgPoolOptions {
  /** Connections at most; at least 2, because cancelling a statement takes one more. */
  readonly maxConnections: number
}

/** Longer than the minute after which rankings are made again: a new session has to learn every table anew. */
const IDLE_MILLIS = 5 * 60_000

/** Does not connect before the first statement, so that a server can start while its database is still away. */
export const layer = (
  { maxConnections }: PgPoolOptions = { maxConnections: 10 }
): Layer.Layer<PgClient.PgClient | SqlClient, never, PgSettings> =>
  Effect.map(PgSettings, (settings) =>
    PgClient.layerFromPool({
      acquire: Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new Pg.Pool({ ...settings, max: Math.max(2, maxConnections), idleTimeoutMillis: IDLE_MILLIS })
          // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
          pool.on("error", () => {})
          return pool
        }),
        (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("2 seconds"))
      )
    })
  ).pipe(Layer.unwrapEffect, Layer.orDie)
