/**
 * Handles repeats. A repeat is a further deposit to an address that already received a deposit for an order.
 * NOWPayments makes each repeat a separate payment. A repeat refers to the original payment, and often to no order.
 *
 * A remark on the order describes a repeat whose money has arrived or will not arrive (status `partially_paid`,
 * `finished`, `failed`, `refunded` or `expired`). The amount of a repeat counts as received when it has reached the
 * deployment's NOWPayments account. A repeat does not complete an order; an operator decides whether to credit the
 * order. The gateway cannot decide this, because it cannot add up the payments correctly: NOWPayments does not document
 * whether the amount of the first payment includes the second payment. A repeat that names another order does not
 * count. Nor does a deposit of another coin, because the value of that coin can differ from a dollar.
 */
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { arrivedIn, type RequestedPayment } from "./NowPaymentsObservation.ts"
import type { Payment } from "./NowPaymentsWire.ts"

/** A payment that the gateway opened for the order, and the request that opened it. */
export interface OwnPayment {
  readonly payment: Payment
  readonly requested: RequestedPayment
}

/** The maximum number of repeats that one refresh of an order fetches. */
const MAX_REPEATS = 20

/**
 * Returns the ids of the repeats to fetch, at most {@link MAX_REPEATS}: ids from webhooks and ids that the order's
 * payments contain.
 */
export const repeatsOf = (own: ReadonlyArray<OwnPayment>, reported: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set(own.map(({ payment }) => payment.payment_id))
  const listed = own.flatMap(({ payment }) => extraIdsOf(payment))
  return [...new Set([...reported, ...listed])].filter((id) => !known.has(id)).slice(0, MAX_REPEATS)
}

const extraIdsOf = ({ payment_extra_ids: ids }: Payment): ReadonlyArray<string> =>
  Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string" && /^\d{1,20}$/.test(id)) : []

/** Adds the repeats to the observation of the order's payments. */
export const withRepeats = (
  observation: PaymentObservation,
  own: ReadonlyArray<OwnPayment>,
  repeats: ReadonlyArray<Payment>
): PaymentObservation => {
  const seen = repeats.flatMap((payment) => repeatIn(payment, own) ?? [])
  if (seen.length === 0) return observation
  const { evidence, received } = observation
  const more = sumOf(seen.map(({ arrivedUsdMicro }) => arrivedUsdMicro))
  const all = sumOf([received?.receivedUsdMicro ?? 0n, more])
  return {
    ...observation,
    received: all === 0n ? received : { receivedRaw: undefined, receivedUsdMicro: all },
    evidence: {
      transactions: [...(evidence?.transactions ?? []), ...seen.flatMap(({ transaction }) => transaction ?? [])],
      remarks: [...(evidence?.remarks ?? []), ...seen.map(({ remark }) => remark)]
    }
  }
}

interface Repeat {
  readonly arrivedUsdMicro: UsdMicro
  readonly transaction: string | undefined
  readonly remark: string
}

/** Returns the repeat; `undefined` if the payment repeats no payment of the order, or if its money may still arrive. */
const repeatIn = (payment: Payment, own: ReadonlyArray<OwnPayment>): Repeat | undefined => {
  const original = originalOf(payment, own)
  if (original === undefined || !HAS_ENDED.has(payment.payment_status)) return undefined
  const { payment_id, payment_status, actually_paid, pay_currency, payin_hash } = payment
  const what = `payment ${payment_id} repeats payment ${original.payment.payment_id}: ${actually_paid ?? 0} ${pay_currency}`
  const mismatch = mismatchWith(payment, original)
  const arrivedUsdMicro = mismatch === undefined ? arrivedIn(payment) : UsdMicro(0n)
  return {
    arrivedUsdMicro,
    transaction: payin_hash || undefined,
    remark: `${what}, ${payment_status}${mismatch === undefined ? "" : `, not counted: ${mismatch}`}`
  }
}

/**
 * Finds the original payment of a repeat: the repeat contains the id of the original, the original contains the id of
 * the repeat, or both have the same address.
 */
const originalOf = (
  { payment_id, parent_payment_id, pay_address }: Payment,
  own: ReadonlyArray<OwnPayment>
): OwnPayment | undefined => {
  if (parent_payment_id) return own.find(({ payment }) => payment.payment_id === parent_payment_id)
  return (
    own.find(({ payment }) => extraIdsOf(payment).includes(payment_id)) ??
    own.find(({ payment }) => Boolean(pay_address) && payment.pay_address === pay_address)
  )
}

const HAS_ENDED: ReadonlySet<string> = new Set(["partially_paid", "finished", "failed", "refunded", "expired"])

const mismatchWith = ({ order_id, pay_currency }: Payment, { requested }: OwnPayment): string | undefined => {
  if (order_id && order_id !== requested.orderNumber) return `it belongs to the order ${order_id}`
  if (pay_currency.toLowerCase() !== requested.currency) return `${requested.currency} was requested`
  return undefined
}

const sumOf = (amounts: ReadonlyArray<bigint>): UsdMicro => UsdMicro(amounts.reduce((sum, amount) => sum + amount, 0n))
