/**
 * Decides the next status of an order after its payment provider reported the state of the payment (an observation),
 * and credits a paid order (docs/reference/reseller.md#top-8, docs/reference/reseller.md#d5,
 * docs/reference/reseller.md#d6, docs/reference/reseller.md#d8, docs/reference/reseller.md#x13).
 *
 *   observation  order status                       next status
 *   Paid         pending, expired, failed           crediting, even if the payment is late
 *   Pending      pending, 1 minute after expiry     expired
 *   Expired      pending                            expired
 *   Failed       pending                            failed
 *   Refunded     pending                            failed, with an alert
 *   Refunded     every other status                 unchanged, with an alert
 *   Suspicious   any                                unchanged, with an alert
 *   Pending      any, if `alert` is set             as without `alert`, but with an alert
 *   every other combination                         unchanged
 *
 * Every observation also updates the order's received amount and evidence. The reason of an alert becomes a remark of
 * the order. An alert with the same reason is raised again at most once a day, and not later than one week after the
 * expiry, because an order with a suspicious payment can stay pending forever and can be refreshed every second. An
 * order stores at most 100 remarks. After that, an alert with a new reason is treated like one that is stored.
 *
 * If the request to the provider fails, there is no observation and the order is unchanged. An order is first marked as
 * `crediting` and then credited. After a crash between these two steps, the next refresh credits the order without a
 * request to the provider.
 */
import * as Account from "../ledger/Account.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import { shortened } from "../validation/Text.ts"
import type { PaymentEvidence, PaymentObservation, Received } from "./PaymentObservation.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

/** The time that the provider has after the expiry to report a payment made just before the expiry. */
export const GRACE_MILLIS = 60_000

/** The result of a refresh that has read the payment. */
export interface Refreshed {
  readonly order: TopUpOrder
  /**
   * The reason why an operator must inspect the order, for the log; undefined if there is none, or if the alert was
   * already raised and is not due again.
   */
  readonly alert: string | undefined
}

export const decideRefresh = (order: TopUpOrder, seen: PaymentObservation, now: Date): Refreshed => {
  const evidence = mergedEvidence(order.evidence, seen.evidence)
  const next = { ...order, refreshedAt: now, evidence, received: largestReceived(order.received, seen.received) }
  const statusChange = seen._tag === "Suspicious" ? {} : statusChangeOf(order, seen, now)
  const alert = alertOf(seen)
  if (alert === undefined) return { order: { ...next, ...statusChange }, alert }
  const remarked = mergedEvidence(evidence, { transactions: [], remarks: [alert] })
  return {
    order: { ...next, evidence: remarked, ...statusChange },
    alert: isDue(alert, order, now) ? alert : undefined
  }
}

const DAY_MILLIS = 24 * 3_600_000
const REPEATED_FOR_MILLIS = 7 * DAY_MILLIS

/** Returns whether an alert is new for the order or due again. `order` is the order before the observation. */
const isDue = (alert: string, { evidence, expiresAt, refreshedAt }: TopUpOrder, now: Date): boolean => {
  const isNew = evidence.remarks.length < MAX_EVIDENCE && !evidence.remarks.includes(alert)
  if (refreshedAt === undefined || isNew) return true
  return dayOf(refreshedAt) !== dayOf(now) && now.getTime() - expiresAt.getTime() <= REPEATED_FOR_MILLIS
}

/** Returns the number of a UTC day. */
const dayOf = (time: Date): number => Math.floor(time.getTime() / DAY_MILLIS)

const alertOf = (seen: PaymentObservation): string | undefined => {
  const reason = seen._tag === "Suspicious" || seen._tag === "Refunded" ? seen.reason : undefined
  const alert = seen._tag === "Pending" ? seen.alert : reason
  return alert === undefined ? undefined : shortened(alert, MAX_EVIDENCE_LENGTH)
}

type StatusChange = Partial<Pick<TopUpOrder, "status" | "paidAt">>

const statusChangeOf = (
  { status, expiresAt, createdAt }: TopUpOrder,
  seen: Exclude<PaymentObservation, { readonly _tag: "Suspicious" }>,
  now: Date
): StatusChange => {
  if (status === "crediting" || status === "credited") return {}
  if (seen._tag === "Paid") return { status: "crediting", paidAt: clamped(createdAt, seen.paidAt ?? now, now) }
  if (status !== "pending") return {}
  switch (seen._tag) {
    case "Expired":
      return { status: "expired" }
    case "Failed":
    case "Refunded":
      return { status: "failed" }
    case "Pending":
      return now.getTime() > expiresAt.getTime() + GRACE_MILLIS ? { status: "expired" } : {}
  }
}

/** Limits a payment time to the time between the order's creation and now, because the provider's clock can differ. */
const clamped = (earliest: Date, time: Date, latest: Date): Date =>
  time.getTime() > latest.getTime() ? latest : time.getTime() < earliest.getTime() ? earliest : time

const largestReceived = (before: Received, seen: Received | undefined): Received => ({
  receivedRaw: larger(before.receivedRaw, seen?.receivedRaw),
  receivedUsdMicro: larger(before.receivedUsdMicro, seen?.receivedUsdMicro)
})

const larger = <Amount extends bigint>(a: Amount | undefined, b: Amount | undefined): Amount | undefined =>
  a === undefined ? b : b === undefined || a > b ? a : b

/** The maximum number of stored transactions, and of stored remarks. Further evidence is only at the provider. */
const MAX_EVIDENCE = 100
/** The maximum length of a stored transaction, remark or alert. These texts contain texts of the provider. */
const MAX_EVIDENCE_LENGTH = 500

const mergedEvidence = (before: PaymentEvidence, seen: PaymentEvidence | undefined): PaymentEvidence =>
  seen === undefined
    ? before
    : {
        transactions: union(before.transactions, seen.transactions),
        remarks: union(before.remarks, seen.remarks)
      }

const union = (before: ReadonlyArray<string>, seen: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set([...before, ...seen.map((text) => shortened(text, MAX_EVIDENCE_LENGTH))])].slice(0, MAX_EVIDENCE)

/** A credited order, the reseller's increased quota, and the transfer to book. */
export interface Credited {
  readonly order: TopUpOrder
  readonly quota: Account.QuotaAccount
  readonly booking: Booking
}

/** Credits the ordered quota if the order is `crediting`. Returns undefined for an order with another status. */
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
