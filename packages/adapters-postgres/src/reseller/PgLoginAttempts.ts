/**
 * Counts recent login attempts in Postgres, with one row per counter. For example, an email address and a client IP
 * address each have a counter.
 *
 * An attempt locks all its rows in the order of their keys before it reads them. Attempts that share a row therefore
 * run one after the other and cannot deadlock.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { LoginAttempts } from "@tollgate/application/reseller/ResellerAccess"
import { decideAttempt, type LoginWindow, windowsOf } from "@tollgate/domain/reseller/LoginLimit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { arrayOf } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"

/**
 * Maximum number of expired rows that each allowed attempt deletes. An attempt adds fewer rows than this, so the table
 * does not grow without limit.
 */
const PRUNE_BATCH_SIZE = 10

export const layer: Layer.Layer<LoginAttempts, never, SqlClient.SqlClient> = Layer.effect(
  LoginAttempts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    /** Inserts the missing rows and locks the existing rows, in the given order. */
    const lockWindows = (windows: ReadonlyArray<LoginWindow>) =>
      Effect.map(
        sql<{ key: string; hits: ReadonlyArray<Date> }>`
          INSERT INTO login_window ${sql.insert(windows.map(({ key }) => ({ key })))}
          ON CONFLICT (key) DO UPDATE SET hits = login_window.hits RETURNING key, hits`,
        (rows) => {
          const hits = new Map(rows.map((row) => [row.key, row.hits]))
          return windows.map((window) => ({ window, hits: hits.get(window.key) ?? [] }))
        }
      )

    const count = (windows: ReadonlyArray<LoginWindow>) =>
      Effect.gen(function* () {
        const before = yield* lockWindows(windows)
        const now = yield* databaseTime
        for (const { window, hits } of yield* decideAttempt(before, now)) {
          const countsUntil = new Date(now.getTime() + window.windowMillis)
          const instants = arrayOf(hits.map((hit) => hit.toISOString()))
          yield* sql`UPDATE login_window SET hits = ${instants}, counts_until = ${countsUntil} WHERE key = ${window.key}`
        }
      })

    const prune = sql`DELETE FROM login_window WHERE key IN (
      SELECT key FROM login_window WHERE counts_until < clock_timestamp()
      ORDER BY counts_until LIMIT ${PRUNE_BATCH_SIZE} FOR UPDATE SKIP LOCKED)`

    return {
      count: (attempt) => count(windowsOf(attempt)).pipe(transact, withSql, Effect.zipLeft(sqlErrorsAreDefects(prune)))
    }
  })
)
