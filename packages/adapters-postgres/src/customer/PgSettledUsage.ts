/**
 * Settled usage in Postgres, up to a horizon that nothing can be written below any more.
 *
 * A settlement is stamped with the clock when its row is made, which is after its transaction took the table's lock for
 * writing. So what is stamped before a look at that lock either belongs to a transaction that was seen holding it, and
 * began no later than its row was stamped, or is committed and in the next snapshot. The horizon is the beginning of
 * the oldest of those transactions, and the rows are read after it was found. Transactions that only read, a backup for
 * instance, do not hold it back.
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

    // A role may not see when the transactions of another one began, and a prepared one has no process: none of this
    // program's lasts for a minute.
    const horizon = Effect.flatMap(
      sql<{ micros: bigint }>`
        SELECT (extract(epoch FROM least(statement_timestamp(), min(
            CASE WHEN l.pid IS NULL OR (a.pid IS NOT NULL AND coalesce(a.state, 'disabled') = 'disabled')
              THEN statement_timestamp() - interval '1 minute' ELSE a.xact_start END))) * 1000000)::bigint AS micros
        FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'relation' AND l.relation = 'settlement'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      ([row]) =>
        row === undefined ? Effect.dieMessage("the database did not say the time") : Effect.succeed(row.micros)
    )

    const instant = (micros: bigint) => sql`timestamptz 'epoch' + ${micros} * interval '1 microsecond'`

    /** Below a position that was read before, nothing has changed since. */
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
          // Each customer's newest item alone is cheap to find, and the page holds nothing older than the last of as many
          // customers as it has places. So only few of many customers are looked into.
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
