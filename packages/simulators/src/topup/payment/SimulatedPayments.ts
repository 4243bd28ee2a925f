/**
 * Stores the payments of a simulator in memory, up to a maximum number. At the maximum, a new payment replaces the
 * oldest payment that has ended unpaid, so that the gateway can still read a payment that was just paid. If there is
 * none, it replaces the oldest paid payment, then the oldest payment without an order number (a deposit address or a
 * repeated payment), and then the oldest payment.
 */
import { type SimulatedPayment, seenAt } from "./SimulatedPayment.ts"

const CAPACITY = 2_000

export class SimulatedPayments {
  readonly #capacity: number
  /** The payments by provider and reference, oldest first. */
  readonly #payments = new Map<string, SimulatedPayment>()

  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity
  }

  /** Adds a payment, or replaces the payment with the same provider and reference. */
  put(payment: SimulatedPayment): void {
    this.#payments.set(keyOf(payment), payment)
    if (this.#payments.size > this.#capacity) this.#drop(payment)
  }

  /**
   * Finds payments by order number, reference or address. An order that can be paid in several coins has one payment
   * per coin.
   */
  named(name: string, now: number, provider?: string): ReadonlyArray<SimulatedPayment> {
    const wanted = name.toLowerCase()
    const names = ({ orderNumber, reference, payTo }: SimulatedPayment) => [orderNumber, reference, payTo]
    return [...this.#payments.values()]
      .filter((payment) => provider === undefined || payment.provider === provider)
      .filter((payment) => names(payment).some((each) => each?.toLowerCase() === wanted))
      .map((payment) => seenAt(payment, now))
  }

  newestFirst(now: number): ReadonlyArray<SimulatedPayment> {
    return [...this.#payments.values()].reverse().map((payment) => seenAt(payment, now))
  }

  #drop(newest: SimulatedPayment): void {
    const payments = [...this.#payments.values()].filter((payment) => payment !== newest)
    const states = payments.map((payment) => seenAt(payment, newest.changedAt).state)
    const first = (wanted: (state: SimulatedPayment["state"]) => boolean) => payments[states.findIndex(wanted)]
    const victim =
      first((state) => state !== "open" && state !== "paid") ??
      first((state) => state === "paid") ??
      payments.find(({ orderNumber }) => orderNumber === undefined) ??
      payments[0]
    if (victim !== undefined) this.#payments.delete(keyOf(victim))
  }
}

const keyOf = ({ provider, reference }: SimulatedPayment): string => `${provider} ${reference}`
