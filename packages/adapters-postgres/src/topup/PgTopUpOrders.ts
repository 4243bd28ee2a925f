/**
 * Top-up orders in Postgres, and the credit of their quota.
 *
 * The order's row is locked before it is decided over, and the quota account after it: whoever credits an order holds
 * both. Reads show `ready` orders only.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { decideCrediting, decideRefresh } from "@tollgate/domain/topup/Refresh"
import { type OrderId, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { book, lockQuotaOf, writePosted } from "../ledger/AccountRows.ts"
import { makeDrafts } from "./TopUpDrafts.ts"
import { ORDER, type OrderRow, STORED, type StoredRow, toOrder, toStored, writeStanding } from "./TopUpRows.ts"

/** Who credits, whoever looked. */
const ACTOR = "topup"
/** As many as a row may have. */
const MOST_REPEATED = 20

export const layer: Layer.Layer<TopUpOrders, never, SqlClient.SqlClient> = Layer.effect(
  TopUpOrders,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const order = sql.literal(ORDER)
    const stored = sql.literal(STORED)

    const storedWhere = (condition: Fragment) =>
      sql<StoredRow>`SELECT ${stored} FROM topup_order o JOIN reseller r ON r.id = o.reseller_id
        WHERE o.provision_state = 'ready' AND ${condition}`

    const lockOrder = (id: OrderId) =>
      Effect.gen(function* () {
        const [row] = yield* sql<OrderRow>`SELECT ${order} FROM topup_order o
          WHERE o.id = ${id} AND o.provision_state = 'ready' FOR NO KEY UPDATE`
        return row === undefined ? yield* Effect.dieMessage(`there is no order ${id}`) : toOrder(row)
      })

    return {
      ...(yield* makeDrafts),

      own: (resellerId, id) =>
        Effect.flatMap(storedWhere(sql`o.id = ${id} AND o.reseller_id = ${resellerId}`), ([row]) =>
          row === undefined ? new TopUpNotFound() : Effect.succeed(toStored(row))
        ).pipe(sqlErrorsAreDefects),

      list: (resellerId, { limit, offset }) =>
        Effect.gen(function* () {
          yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
          const own = sql`o.reseller_id = ${resellerId} AND o.provision_state = 'ready'`
          const [counted] = yield* sql<{ total: number }>`SELECT count(*)::int AS total FROM topup_order o WHERE ${own}`
          const rows = yield* sql<OrderRow>`SELECT ${order} FROM topup_order o WHERE ${own}
            ORDER BY o.created_at DESC, o.id DESC LIMIT ${limit} OFFSET ${offset}`
          return { topUps: rows.map(toOrder), total: counted?.total ?? 0 }
        }).pipe(transact, withSql),

      find: (id) =>
        Effect.map(storedWhere(sql`o.id = ${id}`), ([row]) => Option.map(Option.fromNullable(row), toStored)).pipe(
          sqlErrorsAreDefects
        ),

      search: ({ resellerId, status, olderThan, limit }) =>
        Effect.map(
          sql<StoredRow>`${storedWhere(
            sql.and([
              resellerId === undefined ? sql`true` : sql`o.reseller_id = ${resellerId}`,
              status === undefined ? sql`true` : sql`o.status = ${status}`,
              olderThan === undefined
                ? sql`true`
                : sql`(o.created_at, o.id) < (${olderThan.createdAt}, ${olderThan.id}::uuid)`
            ])
          )} ORDER BY o.created_at DESC, o.id DESC LIMIT ${limit}`,
          (rows) => rows.map(toStored)
        ).pipe(sqlErrorsAreDefects),

      recordObservation: (id, seen) =>
        Effect.gen(function* () {
          const before = yield* lockOrder(id)
          const now = yield* databaseTime
          const refreshed = decideRefresh(before, seen, now)
          yield* writeStanding(refreshed.order, now)
          return refreshed
        }).pipe(transact, withSql),

      credit: (id) =>
        Effect.gen(function* () {
          const before = yield* lockOrder(id)
          const quota = yield* lockQuotaOf(before.resellerId)
          const now = yield* databaseTime
          const credited = decideCrediting(before, quota, now)
          if (credited === undefined) return before
          yield* writePosted(credited.quota)
          yield* book(credited.booking, ACTOR)
          yield* writeStanding(credited.order, now)
          return credited.order
        }).pipe(transact, withSql),

      noteRepeated: (provider, { paymentId, originalId }) =>
        Effect.map(
          sql<StoredRow>`
            UPDATE topup_order o SET next_look_at = least(next_look_at, clock_timestamp()),
              repeated_payments = CASE
                WHEN ${paymentId} = ANY (repeated_payments) OR cardinality(repeated_payments) >= ${MOST_REPEATED}
                THEN repeated_payments ELSE repeated_payments || ${paymentId}::text END
            FROM reseller r WHERE r.id = o.reseller_id AND o.provision_state = 'ready' AND o.method = 'crypto'
              AND o.provider = ${provider} AND string_to_array(o.provider_payment_id, ',') @> ARRAY[${originalId}::text]
            RETURNING ${stored}`,
          ([row]) => Option.map(Option.fromNullable(row), toStored)
        ).pipe(sqlErrorsAreDefects),

      claimDue: ({ providers, limit, lease }) =>
        Effect.map(
          sql<StoredRow>`
            WITH due AS MATERIALIZED (
              SELECT id, next_look_at AS due_at FROM topup_order
              WHERE next_look_at <= clock_timestamp()
                AND (${sql.in("provider", providers)} OR (status = 'crediting' AND NOT simulated))
              ORDER BY next_look_at LIMIT ${limit} FOR UPDATE SKIP LOCKED),
            claimed AS (
              UPDATE topup_order o
              SET next_look_at = clock_timestamp() + make_interval(secs => ${Duration.toSeconds(lease)})
              FROM due WHERE o.id = due.id RETURNING o.*, due.due_at)
            SELECT ${stored} FROM claimed o JOIN reseller r ON r.id = o.reseller_id ORDER BY o.due_at, o.id`,
          (rows) => rows.map(toStored)
        ).pipe(sqlErrorsAreDefects)
    }
  })
)
