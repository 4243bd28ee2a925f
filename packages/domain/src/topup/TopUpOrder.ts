/**
 * Defines a reseller's order for quota: its amount, its status and the received payments.
 *
 *     pending ──paid──▶ crediting ──booked──▶ credited
 *        └──▶ expired | failed ──paid late──▶ crediting
 *
 * An order begins as a draft, which the reseller does not see. The order becomes visible when a provider has opened its
 * payment. From then on the payment instructions do not change.
 */
import * as Either from "effect/Either"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Idr } from "../money/Idr.ts"
import { floorToUsdMicro } from "../money/TokenRaw.ts"
import { UsdMicro } from "../money/UsdMicro.ts"
import type { ResellerId } from "../reseller/Reseller.ts"
import { retryAfterSecondsOf } from "../validation/RequestErrors.ts"
import type { PaymentInstructions, PaymentMethod, TokenKind } from "./PaymentMethod.ts"
import type { PaymentEvidence, Received } from "./PaymentObservation.ts"

export const OrderId = Schema.UUID.pipe(Schema.brand("OrderId"))
export type OrderId = typeof OrderId.Type

/**
 * The number of an order at payment providers: `RTO-` followed by the order id (docs/reference/reseller.md#top-ups).
 */
export const OrderNumber = Schema.TemplateLiteral("RTO-", Schema.String).pipe(Schema.brand("OrderNumber"))
export type OrderNumber = typeof OrderNumber.Type

export const TopUpStatus = Schema.Literal("pending", "crediting", "credited", "expired", "failed")
export type TopUpStatus = typeof TopUpStatus.Type

export type PaymentStatus = "paid" | "pending" | "expired" | "failed"

/** The progress of opening the payment at a provider. Only `ready` orders are visible to resellers. */
export type ProvisionState = "creating" | "ready" | "abandoned"

export type TopUpAmount =
  /** `totalIdr` is `amountIdr` plus `feeIdr`. Only `amountIdr` is credited. */
  | { readonly _tag: "Rupiah"; readonly amountIdr: Idr; readonly feeIdr: Idr; readonly totalIdr: Idr }
  /** One token is credited as one USD of quota. */
  | { readonly _tag: "Dollars"; readonly tokenKind: TokenKind }

/** The terms of a top-up, from a reseller's valid request. */
export interface TopUpTerms {
  readonly method: PaymentMethod
  readonly amount: TopUpAmount
  readonly quotaUsdMicro: UsdMicro
}

/** Returns the token that the payer of a `crypto_bep20` order must send. Undefined for the other methods. */
export const tokenKindOf = ({ amount, method }: TopUpTerms): TokenKind | undefined =>
  amount._tag === "Dollars" && method === "crypto_bep20" ? amount.tokenKind : undefined

/** The data that an order already has before its payment is opened. */
export interface TopUpDraft extends TopUpTerms {
  readonly id: OrderId
  readonly resellerId: ResellerId
  /** The label of the payment provider. The order keeps its provider, because only this provider has the payment. */
  readonly provider: string
  /** True if the payment is simulated, so that no real money is paid. */
  readonly simulated: boolean
  /** The index of the deposit address, unique among all orders; undefined if the provider needs none. */
  readonly depositIndex: number | undefined
  readonly createdAt: Date
}

export interface TopUpOrder extends TopUpDraft {
  readonly providerPaymentId: string
  readonly instructions: PaymentInstructions
  readonly expiresAt: Date
  readonly status: TopUpStatus
  /** The amounts received so far. The amounts never decrease. */
  readonly received: Received
  /** Evidence for operators. It is never returned to a reseller. */
  readonly evidence: PaymentEvidence
  readonly paidAt: Date | undefined
  readonly creditedAt: Date | undefined
  /** The time at which the last observation was recorded. */
  readonly refreshedAt: Date | undefined
}

/**
 * The reseller has too many unpaid orders. `retryAfterSeconds` is the time until the first of them expires. A draft has
 * no expiry yet, and is treated as if it expired in 20 seconds.
 */
export class TooManyUnpaidOrders extends Schema.TaggedError<TooManyUnpaidOrders>()("TooManyUnpaidOrders", {
  maxUnpaidOrders: Schema.Int,
  retryAfterSeconds: Schema.Int
}) {}

/**
 * An unpaid order is a draft whose payment is being opened, which has no `expiresAt` yet, or a pending order whose
 * payment instructions have not expired.
 */
export interface UnpaidOrder {
  readonly expiresAt: Date | undefined
}

/** Maximum number of unpaid orders per reseller (docs/reference/reseller.md#d12). */
export const MAX_UNPAID_ORDERS = 50

/**
 * On a running node, the payment of a draft is usually opened within this time, or the draft is abandoned. The draft of
 * a node that has died is abandoned later.
 */
const DRAFT_MILLIS = 20_000

/** Allows a new order, unless the reseller has too many unpaid orders. */
export const decideNewOrder = (
  unpaid: ReadonlyArray<UnpaidOrder>,
  now: Date
): Either.Either<void, TooManyUnpaidOrders> => {
  if (unpaid.length < MAX_UNPAID_ORDERS) return Either.void
  const endsInMillis = unpaid.map(({ expiresAt }) =>
    expiresAt === undefined ? DRAFT_MILLIS : expiresAt.getTime() - now.getTime()
  )
  const retryAfterSeconds = retryAfterSecondsOf(Math.min(...endsInMillis))
  return Either.left(new TooManyUnpaidOrders({ maxUnpaidOrders: MAX_UNPAID_ORDERS, retryAfterSeconds }))
}

/** No visible order has this id, or the order belongs to another reseller. */
export class TopUpNotFound extends Schema.TaggedError<TopUpNotFound>()("TopUpNotFound", {}) {}

export const orderNumberOf = (id: OrderId): OrderNumber => OrderNumber.make(`RTO-${id}`)

const decodeId = Schema.decodeUnknownOption(OrderId)

/** Returns the order id in an order number that a provider sent; none if the text is not an order number. */
export const orderIdOf = (number: string): Option.Option<OrderId> =>
  decodeId(number.startsWith("RTO-") ? number.slice(4).toLowerCase() : undefined)

/**
 * Returns the order id in the name of an order that an operator entered: an order id or an order number, in upper or
 * lower case.
 */
export const orderIdNamed = (name: string): Option.Option<OrderId> =>
  decodeId(name.trim().toLowerCase().replace(/^rto-/, ""))

export const nothingReceived: Received = { receivedRaw: undefined, receivedUsdMicro: undefined }

export const noEvidence: PaymentEvidence = { transactions: [], remarks: [] }

export const paymentStatusOf = ({ status }: Pick<TopUpOrder, "status">): PaymentStatus =>
  status === "crediting" || status === "credited" ? "paid" : status

/**
 * Returns the received amount in micro-USD, from the raw amount if there is one; undefined if the amount is unknown.
 */
export const receivedUsdMicroOf = ({ received }: Pick<TopUpOrder, "received">): UsdMicro | undefined =>
  received.receivedRaw === undefined ? received.receivedUsdMicro : floorToUsdMicro(received.receivedRaw)

/**
 * Returns the part of the received amount that exceeds the ordered quota. This part is not credited. An operator
 * decides what happens with it.
 */
export const excessUsdMicroOf = (order: Pick<TopUpOrder, "received" | "quotaUsdMicro">): UsdMicro => {
  const received = receivedUsdMicroOf(order) ?? 0n
  return UsdMicro(received > order.quotaUsdMicro ? received - order.quotaUsdMicro : 0n)
}

export type TopUpAnomaly = "late" | "underpaid" | "overpaid" | "remarked"

/**
 * Returns which of these the order is: paid late, underpaid, overpaid, remarked. A refresh remarks an order if its
 * payment is suspicious or refunded, or if money arrived that is not counted. A suspicious order stays pending after
 * its expiry, so its status does not show this.
 */
export const anomaliesOf = (order: TopUpOrder): ReadonlyArray<TopUpAnomaly> => {
  const received = receivedUsdMicroOf(order) ?? 0n
  const notPaid = order.paidAt === undefined
  const late = order.paidAt !== undefined && order.paidAt.getTime() > order.expiresAt.getTime()
  return [
    ...(late ? (["late"] as const) : []),
    ...(notPaid && order.status !== "pending" && received > 0n ? (["underpaid"] as const) : []),
    ...(excessUsdMicroOf(order) > 0n ? (["overpaid"] as const) : []),
    ...(order.evidence.remarks.length > 0 ? (["remarked"] as const) : [])
  ]
}
