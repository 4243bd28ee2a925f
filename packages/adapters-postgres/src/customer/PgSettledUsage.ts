/**
 * Reads settled usage from Postgres, up to a horizon. The horizon is an instant before which no further settlement can
 * appear.
 *
 * A settlement gets its timestamp when its row is inserted, after its transaction has acquired the write lock on the
 * table. At the time when a query reads the locks, there are thus two kinds of settlements with an earlier timestamp.
 * Either the settlement is committed, or its transaction still holds the lock and began before that timestamp. The
 * horizon is the start time of the oldest transaction that holds the lock, or the current time if no transaction holds
 * it. The rows are read after the horizon is known, so they include every settlement before the horizon. Transactions
 * that only read, such as a backup, do not delay the horizon.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SettledUsage } from "@tollgate/application/customer/SettledUsage"
import type { UsageItem, UsagePosition } from "@tollgate/domain/customer/Usage"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

interface UsageRow {
  readonly settled_at_micros: bigint
  readonly request_id: RequestId
  readonly user_id: UserId
  readonly model: string
  readonly total_tokens: bigint
  readonly cost_pico: bigint
  readonly settled_at: Date
}

export const layer: Layer.Layer<SettledUsage, never, SqlClient.SqlClient> = Layer.effect(
  SettledUsage,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // The start time of a transaction is hidden if another role runs it, and unknown if it is prepared. The query then
    // uses the time one minute ago, because no transaction of this program that writes settlements lasts for a minute.
    const horizon = Effect.flatMap(
      sql<{ micros: bigint }>`
        SELECT (extract(epoch FROM least(statement_timestamp(), min(
            CASE WHEN l.pid IS NULL OR (a.pid IS NOT NULL AND coalesce(a.state, 'disabled') = 'disabled')
              THEN statement_timestamp() - interval '1 minute' ELSE a.xact_start END))) * 1000000)::bigint AS micros
        FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'relation' AND l.relation = 'settlement'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      ([row]) =>
        row === undefined ? Effect.dieMessage("the database returned no horizon") : Effect.succeed(row.micros)
    )

    const instant = (micros: bigint) => sql`timestamptz 'epoch' + ${micros} * interval '1 microsecond'`

    /**
     * Returns the condition for rows older than the given position, or older than the horizon when there is no
     * position. No row can appear before a position that was already returned, so a position needs no horizon.
     */
    const below = (after: UsagePosition | undefined) =>
      after === undefined
        ? Effect.map(horizon, (micros) => sql`s.settled_at < ${instant(micros)}`)
        : Effect.succeed(
            sql`(s.settled_at, s.request_id) < (${instant(after.settledAtMicros)}, ${after.requestId}::uuid)`
          )

    return {
      read: (resellerId, { limit, after }) =>
        Effect.gen(function* () {
          const inRange = yield* below(after)
          const used = sql.literal("s.charged_input + s.charged_cache_write + s.charged_cache_read + s.charged_output")
          const newestFirst = sql.literal("ORDER BY settled_at DESC, request_id DESC")
          // The newest item of each customer is cheap to find. When the customers are sorted by their newest items, the
          // first N customers have at least N items. A page of N items thus contains no item older than the newest item
          // of the N-th customer. The query reads the history of at most N customers.
          const rows = yield* sql<UsageRow>`
            WITH latest AS MATERIALIZED (
              SELECT c.user_id, newest.settled_at FROM reseller_customer c CROSS JOIN LATERAL (
                SELECT s.settled_at FROM settlement s WHERE s.user_id = c.user_id AND ${inRange} AND ${used} > 0
                ${newestFirst} LIMIT 1) AS newest
              WHERE c.reseller_id = ${resellerId}),
            oldest AS MATERIALIZED (
              SELECT coalesce(min(settled_at) FILTER (WHERE place = ${limit}), '-infinity') AS settled_at
              FROM (SELECT settled_at, row_number() OVER (ORDER BY settled_at DESC) AS place FROM latest) AS placed),
            page AS (
              SELECT newest.* FROM oldest JOIN latest ON latest.settled_at >= oldest.settled_at CROSS JOIN LATERAL (
                SELECT s.settled_at, s.request_id FROM settlement s
                WHERE s.user_id = latest.user_id AND s.settled_at >= oldest.settled_at AND ${inRange} AND ${used} > 0
                ${newestFirst} LIMIT ${limit}) AS newest
              ${newestFirst} LIMIT ${limit})
            SELECT (extract(epoch FROM s.settled_at) * 1000000)::bigint AS settled_at_micros, s.request_id, s.user_id,
              m.public_name AS model, ${used} AS total_tokens, s.cost_pico, s.settled_at
            FROM page JOIN settlement s USING (request_id) JOIN model m ON m.id = s.model_id
            ORDER BY s.settled_at DESC, s.request_id DESC`
          return rows.map(toItem)
        }).pipe(sqlErrorsAreDefects)
    }
  })
)

const toItem = (row: UsageRow): UsageItem => ({
  position: { settledAtMicros: row.settled_at_micros, requestId: row.request_id },
  userId: row.user_id,
  model: row.model,
  totalTokens: Tokens(row.total_tokens),
  costPico: UsdPico(row.cost_pico),
  settledAt: row.settled_at
})
