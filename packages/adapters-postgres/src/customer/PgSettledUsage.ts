/**
 * Reads settled usage from Postgres, up to a horizon. The horizon is an instant before which no further settlement can
 * appear.
 *
 * A transaction acquires the write lock on the table before it inserts a settlement. The settlement gets its timestamp
 * from the insertion. Therefore a transaction that holds the lock writes only timestamps after its own start. A
 * transaction that acquires the lock after the horizon is read writes only timestamps after this read. The horizon is
 * the start time of the oldest transaction that holds the lock, or the current time if no transaction holds the lock.
 * The rows are read after the horizon is known, so they include every settlement before the horizon. Transactions that
 * only read, such as a backup, do not delay the horizon.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { SettledUsage, type UsageReader } from "@tollgate/application/customer/SettledUsage"
import type { UsageDay, UsageFilter, UsageItem } from "@tollgate/domain/customer/Usage"
import type { UserId } from "@tollgate/domain/customer/User"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Position } from "@tollgate/domain/validation/Cursor"
import { dayOf } from "@tollgate/domain/validation/Days"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ReadSlots from "../client/ReadSlots.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

interface UsageRow {
  readonly settled_at_micros: bigint
  readonly request_id: string
  readonly user_id: UserId
  readonly model: string
  readonly total_tokens: bigint
  readonly cost_pico: bigint
  readonly settled_at: Date
}

interface DayRow {
  readonly start: Date
  readonly requests: bigint
  readonly total_tokens: string
  readonly cost_pico: string
}

/**
 * Two reads of different callers run at a time. A read of a long history takes about a second, and the shared pool has
 * ten connections.
 */
const SLOTS: ReadSlots.ReadSlotsOptions = { running: 2, total: 40, perCaller: 4 }

export const layer: Layer.Layer<SettledUsage, never, SqlClient.SqlClient> = Layer.effect(
  SettledUsage,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const slots = ReadSlots.make(SLOTS)

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
    const used = sql.literal("s.charged_input + s.charged_cache_write + s.charged_cache_read + s.charged_output")

    /**
     * Returns the condition for rows older than the given position, or older than the horizon when there is no
     * position. Each returned position is older than a horizon, so a position needs no horizon.
     */
    const below = (after: Position | undefined) =>
      after === undefined
        ? Effect.map(horizon, (micros) => sql`s.settled_at < ${instant(micros)}`)
        : Effect.succeed(sql`(s.settled_at, s.request_id) < (${instant(after.atMicros)}, ${after.id}::uuid)`)

    /**
     * Returns the condition for rows with charged tokens that match the filter. The condition does not contain the user
     * of the filter, because {@link users} selects by user.
     *
     * If the filter selects a model that the customer has rarely used, the query reads the customer's whole history. No
     * index contains the model, because such an index would double the WAL of every settlement.
     */
    const selected = ({ from, before, model }: UsageFilter) =>
      sql.and([
        sql`${used} > 0`,
        ...(from === undefined ? [] : [sql`s.settled_at >= ${from}`]),
        ...(before === undefined ? [] : [sql`s.settled_at < ${before}`]),
        ...(model === undefined ? [] : [sql`s.model_id = (SELECT id FROM model WHERE public_name = ${model})`])
      ])

    /** Returns a query for the users whose usage is read. */
    const users = (reader: UsageReader, { userId }: UsageFilter) =>
      reader._tag === "Customer"
        ? sql`SELECT ${reader.userId}::uuid AS user_id`
        : sql`SELECT user_id FROM reseller_customer WHERE reseller_id = ${reader.resellerId}
            ${userId === undefined ? sql`` : sql`AND user_id = ${userId}`}`

    /**
     * Returns a query for the positions of a page.
     *
     * The newest item of each customer is cheap to find. When the customers are sorted by their newest items, the first
     * N customers have at least N items. Therefore a page of N items contains no item older than the newest item of the
     * N-th customer. The query does not read the history of a customer whose newest item is older.
     */
    const pageOf = (customers: Fragment, condition: Fragment, limit: number) => {
      const newestFirst = sql.literal("ORDER BY settled_at DESC, request_id DESC")
      return sql`
        WITH latest AS MATERIALIZED (
          SELECT c.user_id, newest.settled_at FROM (${customers}) AS c CROSS JOIN LATERAL (
            SELECT s.settled_at FROM settlement s WHERE s.user_id = c.user_id AND ${condition} ${newestFirst} LIMIT 1) AS newest),
        oldest AS MATERIALIZED (
          SELECT coalesce(min(settled_at) FILTER (WHERE place = ${limit}), '-infinity') AS settled_at
          FROM (SELECT settled_at, row_number() OVER (ORDER BY settled_at DESC) AS place FROM latest) AS placed)
        SELECT newest.* FROM oldest JOIN latest ON latest.settled_at >= oldest.settled_at CROSS JOIN LATERAL (
          SELECT s.settled_at, s.request_id FROM settlement s
          WHERE s.user_id = latest.user_id AND s.settled_at >= oldest.settled_at AND ${condition}
          ${newestFirst} LIMIT ${limit}) AS newest
        ${newestFirst} LIMIT ${limit}`
    }

    return {
      read: (reader, { limit, after, filter }) =>
        Effect.gen(function* () {
          const condition = sql.and([yield* below(after), selected(filter)])
          const rows = yield* sql<UsageRow>`
            SELECT (extract(epoch FROM s.settled_at) * 1000000)::bigint AS settled_at_micros, s.request_id, s.user_id,
              m.public_name AS model, ${used} AS total_tokens, s.cost_pico, s.settled_at
            FROM (${pageOf(users(reader, filter), condition, limit)}) AS page
              JOIN settlement s USING (request_id) JOIN model m ON m.id = s.model_id
            ORDER BY s.settled_at DESC, s.request_id DESC`
          return rows.map(toItem)
        }).pipe(sqlErrorsAreDefects, (read) => slots.run(callerOf(reader), read)),

      days: (reader, filter) =>
        Effect.map(
          // The history of each customer is summed separately, so the query reads no requests of other customers.
          sql<DayRow>`
            SELECT start, sum(requests)::bigint AS requests, sum(total_tokens)::text AS total_tokens,
              sum(cost_pico)::text AS cost_pico
            FROM (${users(reader, filter)}) AS c CROSS JOIN LATERAL (
              SELECT date_bin('1 day', s.settled_at, '2000-01-01 00:00:00+07') AS start, count(*) AS requests,
                sum(${used}) AS total_tokens, sum(s.cost_pico) AS cost_pico
              FROM settlement s WHERE s.user_id = c.user_id AND ${selected(filter)} GROUP BY 1) AS sums
            GROUP BY start ORDER BY start`,
          (rows) => rows.map(toDay)
        ).pipe(sqlErrorsAreDefects, (read) => slots.run(callerOf(reader), read))
    }
  })
)

const callerOf = (reader: UsageReader): string => (reader._tag === "Reseller" ? reader.resellerId : reader.userId)

const toItem = (row: UsageRow): UsageItem => ({
  position: { atMicros: row.settled_at_micros, id: row.request_id },
  userId: row.user_id,
  model: row.model,
  totalTokens: Tokens(row.total_tokens),
  costPico: UsdPico(row.cost_pico),
  settledAt: row.settled_at
})

const toDay = (row: DayRow): UsageDay => ({
  day: dayOf(row.start),
  requests: row.requests,
  totalTokens: Tokens(BigInt(row.total_tokens)),
  costPico: UsdPico(BigInt(row.cost_pico))
})
