/**
 * The connection pool of the stores: the SQL client of Effect over node-postgres.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pg from "pg"
import { PgSettings } from "./PgSettings.ts"

export interface PgPoolOptions {
  /** At least 2, because cancelling a statement takes one more connection. */
  readonly maxConnections: number
}

/** Longer than the minute between two builds of the rankings, because a new session loads the catalog of every table. */
const IDLE_MILLIS = 5 * 60_000

/** Connects at the first statement, so a server can start while its database is still down. */
export const layer = (
  { maxConnections }: PgPoolOptions = { maxConnections: 10 }
): Layer.Layer<PgClient.PgClient | SqlClient, never, PgSettings> =>
  Effect.map(PgSettings, (settings) =>
    PgClient.layerFromPool({
      acquire: Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new Pg.Pool({ ...settings, max: Math.max(2, maxConnections), idleTimeoutMillis: IDLE_MILLIS })
          // The pool replaces a connection that breaks while idle; without a listener the error would end the process.
          pool.on("error", () => {})
          return pool
        }),
        (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("2 seconds"))
      )
    })
  ).pipe(Layer.unwrapEffect, Layer.orDie)
