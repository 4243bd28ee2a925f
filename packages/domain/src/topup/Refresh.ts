/**
 * The next state of an order after its provider's report, and its crediting (docs/reference/reseller.md#top-8,
 * docs/reference/reseller.md#d5, docs/reference/reseller.md#d6, docs/reference/reseller.md#d8).
 *
 *   seen         order                              becomes
 *   Paid         pending, expired, failed           crediting: the payment wins, however late
 *   Pending      pending, well after its expiry     expired
 *   Expired      pending                            expired
 *   Failed       pending                            failed
 *   Suspicious   any                                what it was, with an alert; what arrived is kept all the same
 *   anything     crediting, credited                what it was
 *
 * A failed query is not an observation and changes nothing. Marking and crediting are two steps, so that a crash between them
 * leaves a `crediting` order, which the next refresh credits without a query to the provider.
 */
import * as Account from "../ledger/Account.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import type { PaymentEvidence, PaymentObservation, Received } from "./PaymentObservation.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

/** A payment made in the last second needs a moment to show. */
export const GRACE_MILLIS = 60_000

export interface Refreshed {
  readonly order: TopUpOrder
  /** The reason for an operator to inspect the order; for the log and the alarm. */
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

/** A provider's clock is not ours: paid before the order was made, or not yet, cannot be. */
const between = (earliest: Date, time: Date, latest: Date): Date =>
  time.getTime() > latest.getTime() ? latest : time.getTime() < earliest.getTime() ? earliest : time

const mostOf = (before: Received, seen: Received | undefined): Received => ({
  receivedRaw: larger(before.receivedRaw, seen?.receivedRaw),
  receivedUsdMicro: larger(before.receivedUsdMicro, seen?.receivedUsdMicro)
})

const larger = <Amount extends bigint>(a: Amount | undefined, b: Amount | undefined): Amount | undefined =>
  a === undefined ? b : b === undefined || a > b ? a : b

/** Bounds the stored evidence; the provider has the rest. */
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

/** A credited order with what to book for it. */
export interface Credited {
  readonly order: TopUpOrder
  readonly quota: Account.QuotaAccount
  readonly booking: Booking
}

/** Credits a paid order with exactly its quota; nothing when it is not, or not any more, to be credited. */
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
