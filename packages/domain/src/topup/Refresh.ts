/**
 * Decides the next state of an order after an observation by its payment provider, and the crediting of a paid order
 * (docs/reference/reseller.md#top-8, docs/reference/reseller.md#d5, docs/reference/reseller.md#d6,
 * docs/reference/reseller.md#d8).
 *
 *   observation  order status                       next status
 *   Paid         pending, expired, failed           crediting, however late the payment is
 *   Pending      pending, 1 minute past expiry      expired
 *   Expired      pending                            expired
 *   Failed       pending                            failed
 *   Suspicious   any                                unchanged, with an alert; the received amount is stored
 *   any other    crediting, credited                unchanged
 *
 * A failed query is not an observation and changes nothing. Marking an order as `crediting` and crediting it are two
 * steps. A crash between the steps leaves a `crediting` order, which the next refresh credits without a query to the provider.
 */
import * as Account from "../ledger/Account.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import type { PaymentEvidence, PaymentObservation, Received } from "./PaymentObservation.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

/** The time after expiry for the provider to report a payment that was made in the last second. */
export const GRACE_MILLIS = 60_000

export interface Refreshed {
  readonly order: TopUpOrder
  /** The reason why an operator must inspect the order, for the log and the alert; undefined when there is none. */
  readonly alert: string | undefined
}

export const decideRefresh = (order: TopUpOrder, seen: PaymentObservation, now: Date): Refreshed => {
  const evidence = allOf(order.evidence, seen.evidence)
  const next = { ...order, checkedAt: now, evidence, received: mostOf(order.received, seen.received) }
  if (seen._tag === "Suspicious") {
    const remarked = allOf(evidence, { transactions: [], remarks: [seen.reason] })
    return { order: { ...next, evidence: remarked }, alert: seen.reason }
  }
  return { order: { ...next, ...movedBy(order, seen, now) }, alert: undefined }
}

type Move = Partial<Pick<TopUpOrder, "status" | "paidAt">>

const movedBy = (
  { status, expiresAt, createdAt }: TopUpOrder,
  seen: Exclude<PaymentObservation, { readonly _tag: "Suspicious" }>,
  now: Date
): Move => {
  if (status === "crediting" || status === "credited") return {}
  if (seen._tag === "Paid") return { status: "crediting", paidAt: between(createdAt, seen.paidAt ?? now, now) }
  if (status !== "pending") return {}
  switch (seen._tag) {
    case "Expired":
      return { status: "expired" }
    case "Failed":
      return { status: "failed" }
    case "Pending":
      return now.getTime() > expiresAt.getTime() + GRACE_MILLIS ? { status: "expired" } : {}
  }
}

/** Limits a provider's time of payment to the time from the order's creation until now, because the clocks can differ. */
const between = (earliest: Date, time: Date, latest: Date): Date =>
  time.getTime() > latest.getTime() ? latest : time.getTime() < earliest.getTime() ? earliest : time

const mostOf = (before: Received, seen: Received | undefined): Received => ({
  receivedRaw: larger(before.receivedRaw, seen?.receivedRaw),
  receivedUsdMicro: larger(before.receivedUsdMicro, seen?.receivedUsdMicro)
})

const larger = <Amount extends bigint>(a: Amount | undefined, b: Amount | undefined): Amount | undefined =>
  a === undefined ? b : b === undefined || a > b ? a : b

/** The maximum number of stored transactions and of stored remarks; the provider has the rest. */
const MAX_EVIDENCE = 100

const allOf = (before: PaymentEvidence, seen: PaymentEvidence | undefined): PaymentEvidence =>
  seen === undefined
    ? before
    : {
        transactions: union(before.transactions, seen.transactions),
        remarks: union(before.remarks, seen.remarks)
      }

const union = (before: ReadonlyArray<string>, seen: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set([...before, ...seen])].slice(0, MAX_EVIDENCE)

/** A credited order, the new quota, and the transfer to book. */
export interface Credited {
  readonly order: TopUpOrder
  readonly quota: Account.QuotaAccount
  readonly booking: Booking
}

/** Credits a `crediting` order with exactly its quota; returns undefined for an order with another status. */
export const decideCrediting = (order: TopUpOrder, quota: Account.QuotaAccount, now: Date): Credited | undefined =>
  order.status !== "crediting"
    ? undefined
    : {
        order: { ...order, status: "credited", creditedAt: now },
        quota: Account.credit(quota, order.quotaUsdMicro),
        booking: {
          code: "topup",
          ref: order.id,
          unit: "usd_micro",
          debit: systemAccounts.externalPayments,
          credit: quota.id,
          amount: order.quotaUsdMicro
        }
      }
