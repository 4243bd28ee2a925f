/**
 * Maps the payment status that Tripay reports to a payment observation.
 */
import type { Idr } from "@tollgate/domain/money/Idr"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { idrOf } from "../wire/WireAmounts.ts"
import type { Transaction } from "./TripayWire.ts"

/** The payment that was requested. */
export interface RequestedPayment {
  readonly reference: string
  readonly orderNumber: string
  readonly total: Idr
}

export const toObservation = (transaction: Transaction, requested: RequestedPayment): PaymentObservation => {
  const mismatch = mismatchOf(transaction, requested)
  if (mismatch !== undefined) return { _tag: "Suspicious", reason: mismatch, received: undefined }
  return meaningOf(transaction)
}

/** Returns the first difference between a payment and the requested payment; `undefined` if they match. */
export const mismatchOf = (
  { reference, merchant_ref, amount }: Transaction,
  requested: RequestedPayment
): string | undefined => {
  if (reference !== requested.reference) return `its reference is ${reference}`
  if (merchant_ref !== requested.orderNumber) return `it belongs to the order ${merchant_ref}`
  if (idrOf(amount) !== requested.total) return `its amount is ${amount}`
  return undefined
}

export const isKnown = (status: string): boolean => KNOWN.has(status)

const KNOWN: ReadonlySet<string> = new Set(["UNPAID", "PAID", "EXPIRED", "FAILED", "REFUND"])

const meaningOf = ({ status, paid_at }: Transaction): PaymentObservation => {
  const received = undefined
  switch (status) {
    case "PAID":
      return { _tag: "Paid", paidAt: paid_at ? new Date(paid_at * 1_000) : undefined, received }
    case "EXPIRED":
      return { _tag: "Expired", received }
    case "FAILED":
      return { _tag: "Failed", reason: "failed", received }
    case "REFUND":
      return { _tag: "Refunded", reason: "refunded", received }
    default:
      return { _tag: "Pending", received }
  }
}
