/**
 * Orders before anybody sees them: drafted, then ready or abandoned.
 *
 * Whether a draft becomes an order or is given up is decided by whoever changes its row first; the other finds it no
 * longer `creating`.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { firstRefreshAt } from "@tollgate/domain/topup/RefreshSchedule"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { jsonText, nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import {
  DRAFT,
  type DraftRow,
  fromAmount,
  PAYER,
  type PayerRow,
  STORED,
  type StoredRow,
  toDraft,
  toPayer,
  toStored
} from "./TopUpRows.ts"

type Drafts = Pick<Context.Tag.Service<TopUpOrders>, "draft" | "makeReady" | "abandon" | "abandonStale">

const ABANDONED_AT_ONCE = 100

export const makeDrafts: Effect.Effect<Drafts, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const withSql = Effect.provideService(SqlClient.SqlClient, sql)
  return {
    draft: ({ method, amount, quotaUsdMicro, resellerId, provider, simulated, needsDepositIndex }) =>
      Effect.gen(function* () {
        const { amount_idr, fee_idr, total_idr, token_kind } = fromAmount(amount)
        const depositIndex = needsDepositIndex ? sql`nextval('topup_deposit_index')` : sql`NULL`
        const [drafted] = yield* sql<DraftRow>`
          INSERT INTO topup_order AS o (id, reseller_id, method, provider, simulated, amount_idr, fee_idr, total_idr,
            token_kind, quota_usd_micro, deposit_index)
          VALUES (${yield* nextUuidV7}, ${resellerId}, ${method}, ${provider}, ${simulated}, ${amount_idr}, ${fee_idr},
            ${total_idr}, ${token_kind}, ${quotaUsdMicro}, ${depositIndex})
          RETURNING ${sql.literal(DRAFT)}`
        return drafted === undefined ? yield* Effect.dieMessage("an inserted draft was not returned") : toDraft(drafted)
      }).pipe(sqlErrorsAreDefects),

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
      }).pipe(transact, withSql),

    abandon: (id, reason) =>
      sql`UPDATE topup_order SET provision_state = 'abandoned', abandoned_because = ${reason.replaceAll("\0", "")}
        WHERE id = ${id} AND provision_state = 'creating'`.pipe(sqlErrorsAreDefects, Effect.asVoid),

    abandonStale: (olderThan) =>
      Effect.map(
        sql<DraftRow & PayerRow>`
          WITH stale AS MATERIALIZED (
            SELECT id FROM topup_order WHERE provision_state = 'creating'
              AND created_at < clock_timestamp() - make_interval(secs => ${Duration.toSeconds(olderThan)})
            ORDER BY created_at LIMIT ${ABANDONED_AT_ONCE} FOR UPDATE SKIP LOCKED)
          UPDATE topup_order o SET provision_state = 'abandoned', abandoned_because = 'whoever was opening it went away'
          FROM stale, reseller r WHERE o.id = stale.id AND r.id = o.reseller_id
          RETURNING ${sql.literal(DRAFT)}, ${sql.literal(PAYER)}`,
        (rows) => rows.map((row) => ({ draft: toDraft(row), payer: toPayer(row) }))
      ).pipe(sqlErrorsAreDefects)
  }
})
