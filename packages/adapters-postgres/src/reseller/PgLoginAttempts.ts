/**
 * How often somebody tried to log in lately, in Postgres: one row for each thing that is counted.
 *
 * All rows of an attempt are locked in the order of their keys before any is read, so attempts that share one come one
 * after the other, and no two wait for each other.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { LoginAttempts } from "@tollgate/application/reseller/ResellerAccess"
import { decideAttempt, type LoginWindow, windowsOf } from "@tollgate/domain/reseller/LoginLimit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { arrayOf } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"

/** Each attempt that is counted takes away more old rows than it can add. */
const PRUNED_AT_ONCE = 10

export const layer: Layer.Layer<LoginAttempts, never, SqlClient.SqlClient> = Layer.effect(
  LoginAttempts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    /** Makes the rows that are not there and locks those that are, in the order given. */
    const locked = (windows: ReadonlyArray<LoginWindow>) =>
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
        const before = yield* locked(windows)
        const now = yield* databaseTime
        for (const { window, hits } of yield* decideAttempt(before, now)) {
          const countsUntil = new Date(now.getTime() + window.windowMillis)
          const instants = arrayOf(hits.map((hit) => hit.toISOString()))
          yield* sql`UPDATE login_window SET hits = ${instants}, counts_until = ${countsUntil} WHERE key = ${window.key}`
        }
      })

    const prune = sql`DELETE FROM login_window WHERE key IN (
      SELECT key FROM login_window WHERE counts_until < clock_timestamp()
      ORDER BY counts_until LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED)`

    return {
      count: (attempt) => count(windowsOf(attempt)).pipe(transact, withSql, Effect.zipLeft(sqlErrorsAreDefects(prune)))
    }
  })
)
