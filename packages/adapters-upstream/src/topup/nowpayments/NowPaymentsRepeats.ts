/**
 * Repeated deposits to an address of an order. NOWPayments makes each of them a separate payment, which refers to the
 * payment it repeats and often to no order.
 *
 * Its amount counts as received for the order once it has arrived, and it is always noted. It completes no order:
 * that would need the sum of several payments, and NOWPayments does not document that the amount of the first payment
 * stays the same after the second. An operator decides. A deposit in another coin is not worth a dollar and does not
 * count.
 */
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { type Asked, arrivedIn } from "./NowPaymentsObservation.ts"
import type { Payment } from "./NowPaymentsWire.ts"

/** One of the order's own payments, and the request it was opened with. */
export interface Own {
  readonly payment: Payment
  readonly asked: Asked
}

/** The number of repeats that an order stores. */
const MAX_REPEATS = 20

/** The payments to refresh besides the order's own: reported ones, and those that its own refer to. */
export const repeatsOf = (own: ReadonlyArray<Own>, reported: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set(own.map(({ payment }) => payment.payment_id))
  const listed = own.flatMap(({ payment }) => extraIdsOf(payment))
  return [...new Set([...reported, ...listed])].filter((id) => !known.has(id)).slice(0, MAX_REPEATS)
}

const extraIdsOf = ({ payment_extra_ids: ids }: Payment): ReadonlyArray<string> =>
  Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string" && /^\d{1,20}$/.test(id)) : []

/** The observation of the order's own payments together with their repeats. */
export const withRepeats = (
  observation: PaymentObservation,
  own: ReadonlyArray<Own>,
  repeats: ReadonlyArray<Payment>
): PaymentObservation => {
  const seen = repeats.flatMap((payment) => repeatIn(payment, own) ?? [])
  if (seen.length === 0) return observation
  const { evidence, received } = observation
  const more = sumOf(seen.map(({ broughtUsdMicro }) => broughtUsdMicro))
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
  readonly broughtUsdMicro: UsdMicro
  readonly transaction: string | undefined
  readonly remark: string
}

/** Undefined for a payment that repeats none of these, and until its money has arrived. */
const repeatIn = (payment: Payment, own: ReadonlyArray<Own>): Repeat | undefined => {
  const original = originalOf(payment, own)
  if (original === undefined || !HAS_ENDED.has(payment.payment_status)) return undefined
  const { payment_id, payment_status, actually_paid, pay_currency, payin_hash } = payment
  const what = `payment ${payment_id} repeats ${original.payment.payment_id}: ${actually_paid ?? 0} ${pay_currency}`
  const foreign = foreignTo(payment, original)
  const broughtUsdMicro = foreign === undefined ? arrivedIn(payment) : UsdMicro(0n)
  return {
    broughtUsdMicro,
    transaction: payin_hash || undefined,
    remark: `${what}, ${payment_status}${foreign === undefined ? "" : `, not counted: ${foreign}`}`
  }
}

/** The original is the payment that the repeat names, that names the repeat, or that has the same address. */
const originalOf = (
  { payment_id, parent_payment_id, pay_address }: Payment,
  own: ReadonlyArray<Own>
): Own | undefined => {
  if (parent_payment_id) return own.find(({ payment }) => payment.payment_id === parent_payment_id)
  return (
    own.find(({ payment }) => extraIdsOf(payment).includes(payment_id)) ??
    own.find(({ payment }) => Boolean(pay_address) && payment.pay_address === pay_address)
  )
}

const HAS_ENDED: ReadonlySet<string> = new Set(["partially_paid", "finished", "failed", "refunded", "expired"])

const foreignTo = ({ order_id, pay_currency }: Payment, { asked }: Own): string | undefined => {
  if (order_id && order_id !== asked.orderNumber) return `it is of the order ${order_id}`
  if (pay_currency.toLowerCase() !== asked.currency) return `${asked.currency} was asked for`
  return undefined
}

const sumOf = (amounts: ReadonlyArray<bigint>): UsdMicro => UsdMicro(amounts.reduce((sum, amount) => sum + amount, 0n))
