/**
 * Defines a payment at a simulated provider, and the actions that the control page can apply to it.
 *
 *     open ──pay, overpay──▶ paid
 *       ├──expire──▶ expired ──pay, overpay──▶ paid
 *       ├──fail────▶ failed ───pay, overpay──▶ paid
 *       └──cancelled by the gateway──▶ cancelled
 *
 * After `underpay`, the payment is still open. An expired payment can also fail, and a failed payment can expire.
 */
import type { JsonObject } from "@tollgate/domain/inference/Json"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import * as BigInteger from "effect/BigInt"
import * as Either from "effect/Either"

export const ACTIONS = ["pay", "underpay", "overpay", "expire", "fail"] as const
export type Action = (typeof ACTIONS)[number]

export const isAction = (name: string | undefined): name is Action => ACTIONS.some((action) => action === name)

export interface SimulatedPayment {
  /** The name of the provider, for example `midtrans`. The paths of its API begin with this name. */
  readonly provider: string
  readonly method: PaymentMethod
  /** The reference that the provider assigned to the payment. */
  readonly reference: string
  /** The order number; undefined for a deposit address without a registered order. */
  readonly orderNumber: string | undefined
  /** The deposit address to which a payer sends money. */
  readonly payTo: string | undefined
  /** The simulator's path of the page or image that a payer opens. */
  readonly shownAt: string | undefined
  readonly currency: string
  /** The number of decimals of the currency. The amounts `due` and `received` are in its smallest unit. */
  readonly decimals: number
  readonly due: bigint | undefined
  readonly received: bigint
  readonly state: "open" | "paid" | "expired" | "failed" | "cancelled"
  /** The creation time. This and the following times are Unix milliseconds. */
  readonly openedAt: number
  readonly changedAt: number
  readonly expiresAt: number | undefined
  /** The URL to which the webhooks of this payment are sent. */
  readonly webhookUrl: string | undefined
  /** The members of the gateway's request, with additions of the simulator. */
  readonly requestBody: JsonObject
  /** The actions that are impossible for payments of this kind, with the reasons. */
  readonly impossible: { readonly [ImpossibleAction in Action]?: string }
}

/** Returns the payment as it is at `now`: an open payment expires at its expiry time. */
export const seenAt = (payment: SimulatedPayment, now: number): SimulatedPayment =>
  payment.state === "open" && payment.expiresAt !== undefined && payment.expiresAt <= now
    ? { ...payment, state: "expired", changedAt: payment.expiresAt }
    : payment

/**
 * Returns the payment after an action, or the reason why the action is impossible. Repeating an action other than
 * `underpay` has no effect.
 */
export const act = (
  payment: SimulatedPayment,
  action: Action,
  now: number
): Either.Either<SimulatedPayment, string> => {
  const { due, impossible, received, state } = payment
  const reason = impossible[action]
  if (reason !== undefined) return Either.left(reason)
  if (state === "cancelled") return Either.left("the gateway cancelled this payment")
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

/**
 * Returns the actions that the control page offers: none for a paid payment, otherwise the actions that would change
 * it.
 */
export const possibleActions = (payment: SimulatedPayment): ReadonlyArray<Action> =>
  payment.state === "paid" ? [] : ACTIONS.filter((action) => changes(payment, action))

const changes = (payment: SimulatedPayment, action: Action): boolean =>
  Either.match(act(payment, action, payment.changedAt), { onLeft: () => false, onRight: (after) => after !== payment })

/** Converts the payment to JSON for the responses of the control requests. */
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

/**
 * Writes an amount in its smallest unit as an exact decimal without trailing zeros: `25000123` with six decimals is
 * `25.000123`.
 */
export const decimalText = (amount: bigint, decimals: number): string => {
  if (decimals === 0) return amount.toString()
  const digits = amount.toString().padStart(decimals + 1, "0")
  const fraction = digits.slice(-decimals).replace(/0+$/, "")
  return fraction === "" ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}

/** Parses a decimal; returns `undefined` if the text is not a decimal or has too many decimals. */
export const readDecimal = (text: string, decimals: number): bigint | undefined => {
  const [, whole, fraction = ""] = /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text) ?? []
  if (whole === undefined || fraction.replace(/0+$/, "").length > decimals) return undefined
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"))
}
