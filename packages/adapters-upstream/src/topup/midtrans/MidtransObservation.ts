/**
 * Maps the payment status that Midtrans reports to a payment observation.
 */
import type { PaymentIntent } from "@tollgate/application/topup/PaymentProviders"
import type { Idr } from "@tollgate/domain/money/Idr"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { idrOf } from "../wire/WireAmounts.ts"
import { type Transaction, timeOf } from "./MidtransWire.ts"

export const toObservation = (
  transaction: Transaction,
  { orderNumber }: Pick<PaymentIntent, "orderNumber">,
  total: Idr
): PaymentObservation => {
  const mismatch = mismatchOf(transaction, orderNumber, total)
  if (mismatch !== undefined) return { _tag: "Suspicious", reason: mismatch, received: undefined }
  return meaningOf(transaction)
}

/** Returns the first difference between a payment and the requested payment; `undefined` if they match. */
export const mismatchOf = (
  { order_id, gross_amount, currency }: Transaction,
  orderNumber: string,
  total: Idr
): string | undefined => {
  if (order_id !== orderNumber) return `it belongs to the order ${order_id}`
  if (idrOf(gross_amount) !== total) return `its amount is ${gross_amount}`
  if ((currency ?? "IDR") !== "IDR") return `its currency is ${currency}`
  return undefined
}

export const isKnown = (status: string): boolean => KNOWN.has(status)

const KNOWN: ReadonlySet<string> = new Set([
  "pending",
  "authorize",
  "capture",
  "settlement",
  "expire",
  "cancel",
  "deny",
  "failure",
  "refund",
  "partial_refund",
  "chargeback",
  "partial_chargeback"
])

const meaningOf = (transaction: Transaction): PaymentObservation => {
  const { transaction_status: status, fraud_status, settlement_time } = transaction
  const received = undefined
  switch (status) {
    case "settlement":
      return { _tag: "Paid", paidAt: timeOf(settlement_time), received }
    case "capture":
      if (fraud_status !== "accept") return { _tag: "Pending", received }
      return { _tag: "Paid", paidAt: timeOf(settlement_time), received }
    case "expire":
      return { _tag: "Expired", received }
    case "cancel":
    case "deny":
    case "failure":
      return { _tag: "Failed", reason: status, received }
    case "refund":
    case "chargeback":
      return { _tag: "Refunded", reason: reversalOf(transaction), received }
    case "partial_refund":
    case "partial_chargeback":
      return { _tag: "Suspicious", reason: reversalOf(transaction), received }
    default:
      return { _tag: "Pending", received }
  }
}

/** Names a refund with its amount, so that the reasons of two partial refunds differ and both raise an alert. */
const reversalOf = ({ transaction_status: status, refund_amount: amount }: Transaction): string =>
  typeof amount === "string" ? `${status} of ${amount}` : status
