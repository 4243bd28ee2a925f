/**
 * Counts recent attempts, such as logins and signups, in Postgres, with one row per counter. For example, an email
 * address and a client IP address each have a counter.
 *
 * An attempt locks all its rows in the order of their keys before it reads them. Attempts that share a row therefore
 * run one after the other and cannot deadlock. A full counter refuses every attempt until enough of its counted
 * attempts are older than its window. The node caches the instant at which this happens, so that very many refused
 * attempts do not use the database.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import { type AttemptWindow, decideAttempt, type FullWindows, refusalOf } from "@tollgate/domain/reseller/AttemptLimit"
import { RateLimited, retryAfterSecondsOf } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ExpiringMap } from "../client/ExpiringMap.ts"
import { arrayOf } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"

/**
 * Maximum number of expired rows that each allowed attempt deletes. An attempt adds fewer rows than this, so the table
 * does not grow without limit.
 */
const PRUNE_BATCH_SIZE = 10

/** Maximum number of full counters that a node caches. A counter that is not cached is read from the database. */
const MAX_REMEMBERED = 10_000

export const layer: Layer.Layer<Attempts, never, SqlClient.SqlClient> = Layer.effect(
  Attempts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const full = new FullCounters()

    /** Inserts the missing rows and locks the existing rows, in the given order. */
    const lockWindows = (windows: ReadonlyArray<AttemptWindow>) =>
      Effect.map(
        sql<{ key: string; hits: ReadonlyArray<Date> }>`
          INSERT INTO login_window ${sql.insert(windows.map(({ key }) => ({ key })))}
          ON CONFLICT (key) DO UPDATE SET hits = login_window.hits RETURNING key, hits`,
        (rows) => {
          const hits = new Map(rows.map((row) => [row.key, row.hits]))
          return windows.map((window) => ({ window, hits: hits.get(window.key) ?? [] }))
        }
      )

    const count = (windows: ReadonlyArray<AttemptWindow>) =>
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
      count: (windows) =>
        Effect.suspend(() => {
          const remembered = full.refusalOf(windows)
          if (remembered !== undefined) return remembered
          // The cached wait begins at this time, before the database decides, so the cached wait does not end too late.
          const startedAtMillis = performance.now()
          return count(windows).pipe(
            transact,
            withSql,
            Effect.mapError((refused) => {
              full.remember(refused, startedAtMillis)
              return refusalOf(refused)
            }),
            Effect.zipLeft(sqlErrorsAreDefects(prune))
          )
        })
    }
  })
)

/** Caches the full counters, which refuse attempts, and the instant at which each of them allows an attempt again. */
class FullCounters {
  readonly #untilMillis = new ExpiringMap<string, number>(MAX_REMEMBERED)

  remember(full: FullWindows, startedAtMillis: number): void {
    for (const { key, refusal } of full) {
      this.#untilMillis.set(key, startedAtMillis + refusal.retryAfterSeconds * 1_000)
    }
  }

  refusalOf(windows: ReadonlyArray<AttemptWindow>): RateLimited | undefined {
    let waitMillis = 0
    for (const { key, windowMillis } of windows) {
      const untilMillis = this.#untilMillis.get(key, windowMillis) ?? 0
      waitMillis = Math.max(waitMillis, untilMillis - performance.now())
    }
    // A cached wait is rounded up to whole seconds, so it can be too long by one second. In its last second, the
    // database decides.
    return waitMillis > 1_000 ? new RateLimited({ retryAfterSeconds: retryAfterSecondsOf(waitMillis) }) : undefined
  }
}
