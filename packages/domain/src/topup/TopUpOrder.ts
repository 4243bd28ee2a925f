/**
 * A reseller's order for quota: what is paid for it, where it stands, and what has arrived.
 *
 *     pending ──paid──▶ crediting ──booked──▶ credited
 *        └──▶ expired | failed ──paid after all──▶ crediting
 *
 * An order is first a draft, which nobody but us sees, and an order once a provider has opened its payment. What to
 * pay and where never changes from then on.
 */
import * as Schema from "effect/Schema"
import type { Idr } from "../money/Idr.ts"
import { floorToUsdMicro } from "../money/TokenRaw.ts"
import { UsdMicro } from "../money/UsdMicro.ts"
import type { ResellerId } from "../reseller/Reseller.ts"
import type { OrderId } from "./OrderId.ts"
import type { PaymentInstructions } from "./PaymentInstructions.ts"
import type { PaymentMethod, TokenKind } from "./PaymentMethod.ts"
import type { PaymentEvidence, Received } from "./PaymentObservation.ts"

export const TopUpStatus = Schema.Literal("pending", "crediting", "credited", "expired", "failed")
export type TopUpStatus = typeof TopUpStatus.Type

export type PaymentStatus = "paid" | "pending" | "expired" | "failed"

/** Whether a provider has opened the payment: `ready` orders are the only ones anybody sees. */
export type ProvisionState = "creating" | "ready" | "abandoned"

export type TopUpAmount =
  /** total = amount + fee; the fee is never credited. */
  | { readonly _tag: "Rupiah"; readonly amountIdr: Idr; readonly feeIdr: Idr; readonly totalIdr: Idr }
  /** One for one: what is paid is what is credited. */
  | { readonly _tag: "Dollars"; readonly tokenKind: TokenKind }

/** What a reseller asks for, once it has been found in order. */
export interface TopUpTerms {
  readonly method: PaymentMethod
  readonly amount: TopUpAmount
  readonly quotaUsdMicro: UsdMicro
}

/** An order whose payment is being opened. */
export interface TopUpDraft extends TopUpTerms {
  readonly id: OrderId
  readonly resellerId: ResellerId
  /** The label of the provider that takes the payment, now and later. */
  readonly provider: string
  /** Not real money. */
  readonly simulated: boolean
  /** A number of its own among all orders; present where the provider asks for one. */
  readonly depositIndex: number | undefined
  readonly createdAt: Date
}

export interface TopUpOrder extends TopUpDraft {
  readonly providerPaymentId: string
  readonly instructions: PaymentInstructions
  readonly expiresAt: Date
  readonly status: TopUpStatus
  /** Only ever grows. */
  readonly received: Received
  /** For operators; never returned to a reseller. */
  readonly evidence: PaymentEvidence
  readonly paidAt: Date | undefined
  readonly creditedAt: Date | undefined
  /** When the provider last gave a definite answer. */
  readonly checkedAt: Date | undefined
}

export const nothingReceived: Received = { receivedRaw: undefined, receivedUsdMicro: undefined }

export const noEvidence: PaymentEvidence = { transactions: [], remarks: [] }

export const paymentStatusOf = ({ status }: Pick<TopUpOrder, "status">): PaymentStatus =>
  status === "crediting" || status === "credited" ? "paid" : status

/** What has arrived in whole micro-USD, where it is known; the raw amount of a chain says it most exactly. */
export const receivedUsdMicroOf = ({ received }: Pick<TopUpOrder, "received">): UsdMicro | undefined =>
  received.receivedRaw === undefined ? received.receivedUsdMicro : floorToUsdMicro(received.receivedRaw)

/** What arrived beyond what was asked for. It is never credited; somebody has to look. */
export const excessUsdMicroOf = (order: Pick<TopUpOrder, "received" | "quotaUsdMicro">): UsdMicro => {
  const received = receivedUsdMicroOf(order) ?? 0n
  return UsdMicro(received > order.quotaUsdMicro ? received - order.quotaUsdMicro : 0n)
}

export type TopUpAnomaly = "late" | "underpaid" | "overpaid"

/** What an operator should look at. */
export const anomaliesOf = (order: TopUpOrder): ReadonlyArray<TopUpAnomaly> => {
  const received = receivedUsdMicroOf(order) ?? 0n
  const open = order.paidAt === undefined
  const late = order.paidAt !== undefined && order.paidAt.getTime() > order.expiresAt.getTime()
  return [
    ...(late ? (["late"] as const) : []),
    ...(open && order.status !== "pending" && received > 0n ? (["underpaid"] as const) : []),
    ...(excessUsdMicroOf(order) > 0n ? (["overpaid"] as const) : [])
  ]
}
