/**
 * Stores top-up orders in Postgres, and credits the quota of paid orders.
 *
 * A transaction locks the order row before it decides about the order. To credit the order, the transaction then also
 * locks the quota account. Reads return only orders in the state `ready`, which have payment instructions. Only
 * `ofOperation` also returns drafts.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { TopUpCounts } from "@tollgate/application/topup/TopUpCounts"
import { OperationUsed, TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import { decideCrediting, decideRefresh } from "@tollgate/domain/topup/Refresh"
import { firstRefreshAt } from "@tollgate/domain/topup/RefreshSchedule"
import { decideNewOrder, MAX_UNPAID_ORDERS, type OrderId, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import { topUpCredited } from "@tollgate/domain/webhook/WebhookEvent"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { jsonText, nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { book, lockQuotaOf, writePosted } from "../ledger/AccountRows.ts"
import { writeEvent } from "../webhook/Outbox.ts"
import {
  DRAFT,
  type DraftRow,
  type EarlierRow,
  FLAGGED,
  fromAmount,
  ORDER,
  type OrderRow,
  PAYER,
  type PayerRow,
  STORED,
  type StoredRow,
  toDraft,
  toEarlier,
  toOrder,
  toPayer,
  toStored,
  writeChanges
} from "./TopUpRows.ts"

type Drafts = Pick<Context.Tag.Service<TopUpOrders>, "draft" | "ofOperation" | "makeReady" | "abandon" | "abandonStale">

const ABANDON_BATCH_SIZE = 100

/** Actor of every credit, whether a background task or a request detected the payment. */
const ACTOR = "topup"
/** Maximum number of repeated payments per order. The check constraint of the table has the same limit. */
const MAX_REPEATED_PAYMENTS = 20

export const layer: Layer.Layer<TopUpOrders, never, SqlClient.SqlClient> = Layer.effect(
  TopUpOrders,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const counts = yield* TopUpCounts
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

      findForReseller: (resellerId, id) =>
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

      search: ({ resellerId, status, flagged, range, olderThan, limit }) =>
        Effect.map(
          sql<StoredRow>`${storedWhere(
            sql.and([
              resellerId === undefined ? sql`true` : sql`o.reseller_id = ${resellerId}`,
              status === undefined ? sql`true` : sql`o.status = ${status}`,
              flagged === true ? sql.literal(FLAGGED) : sql`true`,
              range?.from === undefined ? sql`true` : sql`o.created_at >= ${range.from}`,
              range?.before === undefined ? sql`true` : sql`o.created_at < ${range.before}`,
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
          yield* writeChanges(refreshed.order, now)
          return { before, refreshed }
        }).pipe(
          transact,
          withSql,
          Effect.map(({ before, refreshed }) => {
            const { alert, order } = refreshed
            const ended = order.status === "expired" || order.status === "failed"
            if (ended && order.status !== before.status) counts.add(order.method, order.status)
            if (alert !== undefined) counts.alert(order.method)
            return refreshed
          })
        ),

      credit: (id) =>
        Effect.gen(function* () {
          const before = yield* lockOrder(id)
          const quota = yield* lockQuotaOf(before.resellerId)
          const now = yield* databaseTime
          const credited = decideCrediting(before, quota, now)
          if (credited === undefined) return { order: before, isNew: false }
          yield* writePosted(credited.quota)
          yield* book(credited.booking, ACTOR)
          yield* writeChanges(credited.order, now)
          yield* writeEvent(topUpCredited(credited.order))
          return { order: credited.order, isNew: true }
        }).pipe(
          transact,
          withSql,
          Effect.map(({ isNew, order }) => {
            if (isNew) counts.credited(order.method, order.quotaUsdMicro)
            return order
          })
        ),

      noteRepeated: (provider, { paymentId, originalId }) =>
        Effect.map(
          sql<StoredRow>`
            UPDATE topup_order o SET next_look_at = least(next_look_at, clock_timestamp()),
              repeated_payments = CASE
                WHEN ${paymentId} = ANY (repeated_payments) OR cardinality(repeated_payments) >= ${MAX_REPEATED_PAYMENTS}
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

/**
 * Makes the methods of the store for drafts, which are orders that are not visible yet. A draft becomes ready or
 * abandoned. A transaction changes a draft only while its state is `creating`. Of two transactions, the first
 * therefore determines the state, and the second changes nothing.
 */
const makeDrafts: Effect.Effect<Drafts, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const withSql = Effect.provideService(SqlClient.SqlClient, sql)
  const counts = yield* TopUpCounts

  const earlierOf = (resellerId: ResellerId, operationId: OperationId) =>
    Effect.map(
      sql<EarlierRow>`SELECT ${sql.literal(ORDER)}, o.provision_state, o.operation_id FROM topup_order o
        WHERE o.reseller_id = ${resellerId} AND o.operation_id = ${operationId} AND o.provision_state <> 'abandoned'`,
      ([row]) => Option.map(Option.fromNullable(row), toEarlier)
    )

  return {
    draft: ({ method, amount, quotaUsdMicro, resellerId, operationId, provider, simulated, needsDepositIndex }) =>
      Effect.gen(function* () {
        // This lock serialises the transactions that create drafts of one reseller. Mints and credits do not take this
        // lock.
        yield* sql`SELECT FROM reseller WHERE id = ${resellerId} FOR NO KEY UPDATE`
        const earlier = operationId === undefined ? Option.none() : yield* earlierOf(resellerId, operationId)
        if (Option.isSome(earlier)) return yield* new OperationUsed({ earlier: earlier.value })
        const now = yield* databaseTime
        const unpaid = yield* sql<{ expires_at: Date | null }>`SELECT expires_at FROM topup_order
          WHERE reseller_id = ${resellerId} AND (provision_state = 'creating' OR status = 'pending')
            AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY expires_at LIMIT ${MAX_UNPAID_ORDERS}`
        yield* decideNewOrder(
          unpaid.map(({ expires_at }) => ({ expiresAt: expires_at ?? undefined })),
          now
        )
        const { amount_idr, fee_idr, total_idr, token_kind } = fromAmount(amount)
        const depositIndex = needsDepositIndex ? sql`nextval('topup_deposit_index')` : sql`NULL`
        const [drafted] = yield* sql<DraftRow>`
          INSERT INTO topup_order AS o (id, reseller_id, method, provider, simulated, amount_idr, fee_idr, total_idr,
            token_kind, quota_usd_micro, deposit_index, operation_id)
          VALUES (${yield* nextUuidV7}, ${resellerId}, ${method}, ${provider}, ${simulated}, ${amount_idr}, ${fee_idr},
            ${total_idr}, ${token_kind}, ${quotaUsdMicro}, ${depositIndex}, ${operationId ?? null})
          RETURNING ${sql.literal(DRAFT)}`
        return drafted === undefined
          ? yield* Effect.dieMessage("the database did not return the inserted draft")
          : toDraft(drafted)
      }).pipe(transact, withSql),

    ofOperation: (resellerId, operationId) => earlierOf(resellerId, operationId).pipe(sqlErrorsAreDefects),

    makeReady: (id, { providerPaymentId, instructions, expiresAt, state }) =>
      Effect.gen(function* () {
        const dueAt = firstRefreshAt(yield* databaseTime)
        const [row] = yield* sql<StoredRow>`
          UPDATE topup_order o SET provision_state = 'ready', status = 'pending', expires_at = ${expiresAt},
            provider_payment_id = ${providerPaymentId}, instructions = ${jsonText(instructions)}::jsonb,
            provider_state = ${jsonText(state)}::jsonb, next_look_at = ${dueAt}
          FROM reseller r WHERE r.id = o.reseller_id AND o.id = ${id} AND o.provision_state = 'creating'
          RETURNING ${sql.literal(STORED)}`
        return Option.map(Option.fromNullable(row), toStored)
      }).pipe(
        transact,
        withSql,
        Effect.map((ready) => {
          if (Option.isSome(ready)) counts.add(ready.value.order.method, "opened")
          return ready
        })
      ),

    abandon: (id, reason) =>
      sql<{ method: PaymentMethod }>`
        UPDATE topup_order SET provision_state = 'abandoned', abandoned_because = ${reason.replaceAll("\0", "")}
        WHERE id = ${id} AND provision_state = 'creating' RETURNING method`.pipe(
        sqlErrorsAreDefects,
        Effect.flatMap((rows) =>
          Effect.sync(() => {
            for (const { method } of rows) counts.add(method, "not_opened")
          })
        )
      ),

    abandonStale: (olderThan) =>
      Effect.map(
        sql<DraftRow & PayerRow>`
          WITH stale AS MATERIALIZED (
            SELECT id FROM topup_order WHERE provision_state = 'creating'
              AND created_at < clock_timestamp() - make_interval(secs => ${Duration.toSeconds(olderThan)})
            ORDER BY created_at LIMIT ${ABANDON_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
          UPDATE topup_order o SET provision_state = 'abandoned',
            abandoned_because = 'the payment was not opened in time'
          FROM stale, reseller r WHERE o.id = stale.id AND r.id = o.reseller_id
          RETURNING ${sql.literal(DRAFT)}, ${sql.literal(PAYER)}`,
        (rows) => {
          const stale = rows.map((row) => ({ draft: toDraft(row), payer: toPayer(row) }))
          for (const { draft } of stale) counts.add(draft.method, "not_opened")
          return stale
        }
      ).pipe(sqlErrorsAreDefects)
  }
})
