/**
 * A payment of a simulated provider, and the actions of the simulator on it.
 *
 *     open ──pay, overpay──▶ paid
 *       ├──expire──▶ expired ──pay after all──▶ paid
 *       ├──fail────▶ failed ───pay after all──▶ paid
 *       └──cancelled by the merchant──▶ cancelled
 */
import type { JsonObject } from "@tollgate/domain/inference/Json"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import * as BigInteger from "effect/BigInt"
import * as Either from "effect/Either"

export const ACTIONS = ["pay", "underpay", "overpay", "expire", "fail"] as const
export type Action = (typeof ACTIONS)[number]

export const isAction = (name: string | undefined): name is Action => ACTIONS.some((action) => action === name)

export interface SimulatedPayment {
  /** Of the provider, as in the path of its wire: `midtrans`. */
  readonly provider: string
  readonly method: PaymentMethod
  /** The provider's reference of the payment. */
  readonly reference: string
  /** Undefined for a deposit address that no order was registered for. */
  readonly orderNumber: string | undefined
  /** The address that a payer sends to. */
  readonly payTo: string | undefined
  /** Path of the page for the payer, on the simulator. */
  readonly shownAt: string | undefined
  readonly currency: string
  /** Of the amounts below. */
  readonly decimals: number
  readonly due: bigint | undefined
  readonly received: bigint
  readonly state: "open" | "paid" | "expired" | "failed" | "cancelled"
  /** Unix milliseconds, all three. */
  readonly openedAt: number
  readonly changedAt: number
  readonly expiresAt: number | undefined
  /** Address of the merchant's webhook. */
  readonly callbackUrl: string | undefined
  /** The merchant's request, unchanged. */
  readonly asked: JsonObject
  /** Actions that payments of this kind do not have, and why. */
  readonly cannot: { readonly [Impossible in Action]?: string }
}

/** An unpaid payment expires at its time. */
export const seenAt = (payment: SimulatedPayment, now: number): SimulatedPayment =>
  payment.state === "open" && payment.expiresAt !== undefined && payment.expiresAt <= now
    ? { ...payment, state: "expired", changedAt: payment.expiresAt }
    : payment

/** The payment after the action, or the reason why it is impossible. A repeated action has no effect. */
export const act = (
  payment: SimulatedPayment,
  action: Action,
  now: number
): Either.Either<SimulatedPayment, string> => {
  const { cannot, due, received, state } = payment
  const never = cannot[action]
  if (never !== undefined) return Either.left(never)
  if (state === "cancelled") return Either.left("the merchant cancelled this payment")
  if (action === "expire" || action === "fail") {
    if (state === "paid") return Either.left(`it is paid, so it cannot ${action}`)
    return Either.right(moved(payment, action === "expire" ? "expired" : "failed", now))
  }
  if (due === undefined) return Either.left("its amount is not known")
  if (action === "underpay") {
    const part = (due - received) / 2n
    if (state !== "open") return Either.left(`it is ${state}; only an open payment can be paid in part`)
    if (part <= 0n) return Either.left("the missing amount is too small to be halved")
    return Either.right({ ...payment, received: received + part, changedAt: now })
  }
  const wanted = action === "pay" ? due : due + BigInteger.max(1n, due / 10n)
  return Either.right({ ...moved(payment, "paid", now), received: BigInteger.max(wanted, received) })
}

const moved = (payment: SimulatedPayment, state: SimulatedPayment["state"], now: number): SimulatedPayment =>
  payment.state === state ? payment : { ...payment, state, changedAt: now }

/** The actions that would change the payment. */
export const possibleActions = (payment: SimulatedPayment): ReadonlyArray<Action> =>
  payment.state === "paid" ? [] : ACTIONS.filter((action) => changes(payment, action))

const changes = (payment: SimulatedPayment, action: Action): boolean =>
  Either.match(act(payment, action, payment.changedAt), { onLeft: () => false, onRight: (after) => after !== payment })

/** The payment in responses of the controls. */
export const toJson = (payment: SimulatedPayment): JsonObject => ({
  simulated: true,
  provider: payment.provider,
  method: payment.method,
  order_number: payment.orderNumber ?? null,
  reference: payment.reference,
  status: payment.state,
  currency: payment.currency,
  due: payment.due === undefined ? null : decimalText(payment.due, payment.decimals),
  received: decimalText(payment.received, payment.decimals),
  ...(payment.payTo === undefined ? {} : { pay_to: payment.payTo }),
  opened_at: iso(payment.openedAt),
  changed_at: iso(payment.changedAt),
  expires_at: payment.expiresAt === undefined ? null : iso(payment.expiresAt),
  actions: possibleActions(payment)
})

const iso = (millis: number): string => new Date(millis).toISOString()

/** An amount in its smallest unit as a decimal, exact and without trailing zeros: `25000123` with six decimals is `25.000123`. */
export const decimalText = (amount: bigint, decimals: number): string => {
  if (decimals === 0) return amount.toString()
  const digits = amount.toString().padStart(decimals + 1, "0")
  const fraction = digits.slice(-decimals).replace(/0+$/, "")
  return fraction === "" ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}

/** Undefined where the text is no decimal, or is finer than the smallest unit. */
export const readDecimal = (text: string, decimals: number): bigint | undefined => {
  const [, whole, fraction = ""] = /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.replace(/0+$/, "").length > decimals) return undefined
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"))
}
