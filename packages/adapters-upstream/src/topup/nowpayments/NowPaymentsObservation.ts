/**
 * Combines the NOWPayments payments of an order, one per coin, into one payment observation.
 */
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentEvidence, PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { floorUsdMicroOf, usdMicroOf } from "../wire/WireAmounts.ts"
import type { Payment } from "./NowPaymentsWire.ts"

/** The payment that the gateway requested in one coin. */
export interface RequestedPayment {
  readonly orderNumber: string
  readonly currency: string
  readonly amount: UsdMicro
}

/** Maps one payment to an observation. */
export const toObservation = (payment: Payment, requested: RequestedPayment): PaymentObservation => {
  const mismatch = mismatchOf(payment, requested)
  const meaning: Meaning = mismatch === undefined ? meaningOf(payment, requested.amount) : suspicious(mismatch)
  const transactions = payment.payin_hash ? [payment.payin_hash] : []
  return {
    ...meaning,
    received: isOf(payment, requested) ? receivedIn(payment) : undefined,
    evidence: evidenceOf(transactions)
  }
}

/**
 * Returns true if a payment belongs to the order and is in the requested coin. One token of the requested coin counts
 * as one dollar. An amount in another coin is not counted as received, because a token of that coin can have another
 * value.
 */
const isOf = ({ order_id, pay_currency }: Payment, { orderNumber, currency }: RequestedPayment): boolean =>
  order_id === orderNumber && pay_currency.toLowerCase() === currency

/** Returns the first difference between a payment and the requested payment; `undefined` if they match. */
export const mismatchOf = (
  { order_id, pay_currency, price_currency, pay_amount, parent_payment_id }: Payment,
  { orderNumber, currency, amount }: RequestedPayment
): string | undefined => {
  if (order_id !== orderNumber) return `it belongs to the order ${order_id}`
  if (pay_currency.toLowerCase() !== currency) return `its currency is ${pay_currency}`
  if (price_currency.toLowerCase() !== "usd") return `its price is in ${price_currency}`
  if (usdMicroOf(pay_amount) !== amount) return `its amount is ${pay_amount}`
  if (parent_payment_id) {
    return `it refers to payment ${parent_payment_id} as its original: it is a repeated payment, or a deposit of another coin than the coin of that payment`
  }
  return undefined
}

/**
 * Combines the observations of an order's payments. The result has the first of these tags that one of the payments
 * has: Paid, Suspicious, Pending, Refunded, Failed, Expired. Without payments, the result is Pending. A Pending result
 * has an alert if one of the payments was refunded: the other payments can still be made, but an operator must inspect
 * the refund.
 */
export const combine = (payments: ReadonlyArray<PaymentObservation>): PaymentObservation => {
  const decisive = RANK.flatMap((tag) => payments.filter(({ _tag }) => _tag === tag))[0] ?? { _tag: "Pending" }
  const refund = payments.find(({ _tag }) => _tag === "Refunded")
  return {
    ...decisive,
    ...(decisive._tag === "Pending" && refund?._tag === "Refunded" ? { alert: refund.reason } : {}),
    received: receivedInAll(payments),
    evidence: evidenceOf(payments.flatMap(({ evidence }) => evidence?.transactions ?? []))
  }
}

const RANK: ReadonlyArray<PaymentObservation["_tag"]> = [
  "Paid",
  "Suspicious",
  "Pending",
  "Refunded",
  "Failed",
  "Expired"
]

export const isKnown = (status: string): boolean => KNOWN.has(status)

const KNOWN: ReadonlySet<string> = new Set([
  "waiting",
  "confirming",
  "confirmed",
  "sending",
  "partially_paid",
  "finished",
  "failed",
  "refunded",
  "expired"
])

type Meaning = DistributiveOmit<PaymentObservation, "received" | "evidence">
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

const suspicious = (reason: string): Meaning => ({ _tag: "Suspicious", reason })

const meaningOf = (payment: Payment, amount: UsdMicro): Meaning => {
  switch (payment.payment_status) {
    case "finished":
      return (receivedIn(payment)?.receivedUsdMicro ?? 0n) >= amount
        ? { _tag: "Paid", paidAt: timeOf(payment.updated_at) }
        : suspicious(`finished with ${payment.actually_paid ?? "nothing"} paid`)
    case "expired":
      return { _tag: "Expired" }
    case "failed":
      return { _tag: "Failed", reason: "failed" }
    case "refunded":
      return { _tag: "Refunded", reason: `payment ${payment.payment_id} was refunded` }
    // A payment with another status may still change. For example, a partial payment can still be completed.
    default:
      return { _tag: "Pending" }
  }
}

const evidenceOf = (transactions: ReadonlyArray<string>): PaymentEvidence | undefined =>
  transactions.length === 0 ? undefined : { transactions, remarks: [] }

const receivedIn = ({ actually_paid }: Payment): PaymentObservation["received"] => {
  const receivedUsdMicro = floorUsdMicroOf(actually_paid ?? "")
  return receivedUsdMicro === undefined || receivedUsdMicro === 0n
    ? undefined
    : { receivedRaw: undefined, receivedUsdMicro }
}

const receivedInAll = (payments: ReadonlyArray<PaymentObservation>): PaymentObservation["received"] => {
  const amounts = payments.flatMap(({ received }) => received?.receivedUsdMicro ?? [])
  if (amounts.length === 0) return undefined
  const sum = amounts.reduce<bigint>((sum, amount) => sum + amount, 0n)
  return { receivedRaw: undefined, receivedUsdMicro: UsdMicro(sum) }
}

/**
 * Returns the amount that has reached the deployment's NOWPayments account. An amount in transit to the account is not
 * counted, because it can still be lost.
 */
export const arrivedIn = (payment: Payment): UsdMicro =>
  UsdMicro(ARRIVED.has(payment.payment_status) ? (receivedIn(payment)?.receivedUsdMicro ?? 0n) : 0n)

/** The statuses of a payment whose money has reached the deployment's NOWPayments account. */
export const ARRIVED: ReadonlySet<unknown> = new Set(["partially_paid", "finished"])

export const timeOf = (text: string | null | undefined): Date | undefined => {
  if (!text || !/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time
}
