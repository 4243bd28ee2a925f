/**
 * Reads and writes the rows of top-up orders: the ordered amount, the payment instructions and the status.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { EarlierTopUp, Payer, StoredTopUp } from "@tollgate/application/topup/TopUpOrders"
import { Idr } from "@tollgate/domain/money/Idr"
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentInstructions, PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import type { PaymentEvidence } from "@tollgate/domain/topup/PaymentObservation"
import { nextRefreshAt } from "@tollgate/domain/topup/RefreshSchedule"
import type {
  OrderId,
  ProvisionState,
  TopUpAmount,
  TopUpDraft,
  TopUpOrder,
  TopUpStatus
} from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import { jsonText } from "../client/SqlValues.ts"

/** The columns that every order has, including drafts. */
export interface DraftRow {
  readonly id: OrderId
  readonly reseller_id: ResellerId
  readonly method: PaymentMethod
  readonly provider: string
  readonly simulated: boolean
  readonly amount_idr: bigint | null
  readonly fee_idr: bigint | null
  readonly total_idr: bigint | null
  readonly token_kind: TokenKind | null
  readonly quota_usd_micro: bigint
  readonly deposit_index: number | null
  readonly created_at: Date
}

/** The columns of a `ready` order. */
export interface OrderRow extends DraftRow {
  readonly provider_payment_id: string
  readonly instructions: StoredInstructions
  readonly expires_at: Date
  readonly status: TopUpStatus
  readonly received_raw: string | null
  readonly received_usd_micro: string | null
  readonly evidence: PaymentEvidence
  readonly paid_at: Date | null
  readonly credited_at: Date | null
  readonly checked_at: Date | null
}

/**
 * A row that is not abandoned. The columns that {@link OrderRow} adds to those of a draft are null unless it is
 * `ready`, except `evidence`, which is never null.
 */
export interface EarlierRow extends OrderRow {
  readonly provision_state: ProvisionState
  readonly operation_id: OperationId
}

export interface PayerRow {
  readonly payer_name: string
  readonly payer_email: Email
}

export interface StoredRow extends OrderRow, PayerRow {
  readonly provider_state: unknown
  readonly repeated_payments: ReadonlyArray<string>
}

/** Columns of `topup_order` under the alias `o`. */
export const DRAFT = `o.id, o.reseller_id, o.method, o.provider, o.simulated, o.amount_idr, o.fee_idr, o.total_idr,
  o.token_kind, o.quota_usd_micro, o.deposit_index, o.created_at`
export const ORDER = `${DRAFT}, o.provider_payment_id, o.instructions, o.expires_at, o.status, o.received_raw,
  o.received_usd_micro, o.evidence, o.paid_at, o.credited_at, o.checked_at`
/** Columns of the reseller of the order, under the alias `r`. */
export const PAYER = "r.name AS payer_name, r.email AS payer_email"
export const STORED = `${ORDER}, o.provider_state, o.repeated_payments, ${PAYER}`

/**
 * The condition of an order for which `anomaliesOf` is not empty. The index `topup_order_to_inspect` has the
 * same condition.
 */
export const FLAGGED = `(o.paid_at > o.expires_at
  OR o.paid_at IS NULL AND o.status <> 'pending' AND coalesce(div(o.received_raw, 1000000000000), o.received_usd_micro) > 0
  OR coalesce(div(o.received_raw, 1000000000000), o.received_usd_micro) > o.quota_usd_micro
  OR o.evidence -> 'remarks' <> '[]')`

export const toPayer = ({ payer_name, payer_email }: PayerRow): Payer => ({ name: payer_name, email: payer_email })

export const toStored = (row: StoredRow): StoredTopUp => ({
  order: toOrder(row),
  payer: toPayer(row),
  providerState: row.provider_state,
  repeatedPayments: row.repeated_payments
})

export const toEarlier = (row: EarlierRow): EarlierTopUp => ({
  operationId: row.operation_id,
  draft: toDraft(row),
  order: row.provision_state === "ready" ? toOrder(row) : undefined
})

export const toOrder = (row: OrderRow): TopUpOrder => ({
  ...toDraft(row),
  providerPaymentId: row.provider_payment_id,
  instructions: toInstructions(row.instructions),
  expiresAt: row.expires_at,
  status: row.status,
  received: {
    receivedRaw: row.received_raw === null ? undefined : TokenRaw(BigInt(row.received_raw)),
    receivedUsdMicro: row.received_usd_micro === null ? undefined : UsdMicro(BigInt(row.received_usd_micro))
  },
  evidence: row.evidence,
  paidAt: row.paid_at ?? undefined,
  creditedAt: row.credited_at ?? undefined,
  refreshedAt: row.checked_at ?? undefined
})

export const toDraft = (row: DraftRow): TopUpDraft => ({
  id: row.id,
  resellerId: row.reseller_id,
  method: row.method,
  amount: toAmount(row),
  quotaUsdMicro: UsdMicro(row.quota_usd_micro),
  provider: row.provider,
  simulated: row.simulated,
  depositIndex: row.deposit_index ?? undefined,
  createdAt: row.created_at
})

const toAmount = ({ amount_idr, fee_idr, total_idr, token_kind }: DraftRow): TopUpAmount =>
  token_kind === null
    ? { _tag: "Rupiah", amountIdr: Idr(amount_idr ?? 0n), feeIdr: Idr(fee_idr ?? 0n), totalIdr: Idr(total_idr ?? 0n) }
    : { _tag: "Dollars", tokenKind: token_kind }

export const fromAmount = (amount: TopUpAmount) =>
  amount._tag === "Rupiah"
    ? { amount_idr: amount.amountIdr, fee_idr: amount.feeIdr, total_idr: amount.totalIdr, token_kind: null }
    : { amount_idr: null, fee_idr: null, total_idr: null, token_kind: amount.tokenKind }

/** Writes what a refresh or a credit changes in a locked order: its status, received amounts, evidence and times. */
export const writeChanges = (order: TopUpOrder, now: Date): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE topup_order SET
      status = ${order.status},
      received_raw = ${order.received.receivedRaw ?? null},
      received_usd_micro = ${order.received.receivedUsdMicro ?? null},
      evidence = ${jsonText(order.evidence)}::jsonb,
      paid_at = ${order.paidAt ?? null},
      credited_at = ${order.creditedAt ?? null},
      checked_at = ${order.refreshedAt ?? null},
      next_look_at = ${nextRefreshAt(order, now) ?? null}
      WHERE id = ${order.id}`
  })

/**
 * Payment instructions in the form that `jsonText` writes: raw amounts are strings of digits, and absent members are
 * omitted.
 */
type StoredInstructions = {
  [Tag in PaymentInstructions["_tag"]]: Stored<Extract<PaymentInstructions, { readonly _tag: Tag }>>
}[PaymentInstructions["_tag"]]

type Stored<Of> = { readonly [Member in keyof Of]: Of[Member] extends bigint ? string : Of[Member] }

const toInstructions = (stored: StoredInstructions): PaymentInstructions => {
  switch (stored._tag) {
    case "Qris":
      return { ...stored, qrImageUrl: stored.qrImageUrl }
    case "HostedQris":
      return stored
    case "Crypto":
      return { ...stored, depositAddresses: stored.depositAddresses.map((one) => ({ ...one, memo: one.memo })) }
    case "Bep20":
      return { ...stored, expectedRaw: TokenRaw(BigInt(stored.expectedRaw)) }
  }
}
