/**
 * Counts the top-ups of this process since its start, by payment method and outcome, for the metrics. The store of the
 * orders adds each committed change. Webhooks are counted by payment provider.
 */
import { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import * as Context from "effect/Context"

export const topUpOutcomes = ["opened", "not_opened", "credited", "expired", "failed"] as const
/**
 * `opened`: the payment was opened, so the order is visible. `not_opened`: the draft was abandoned. The other outcomes
 * are the statuses with the same names. An order is counted with each outcome that it reaches, for example `opened` and
 * later `expired`.
 */
export type TopUpOutcome = (typeof topUpOutcomes)[number]

/** The counters of one payment method. */
export interface MethodCounts {
  readonly method: PaymentMethod
  readonly outcomes: Record<TopUpOutcome, number>
  /** The number of alerts that observations and webhooks have raised: an operator must inspect a payment. */
  alerts: number
  creditedUsdMicro: bigint
}

export const webhookOutcomes = ["accepted", "no_order", "refused", "failed"] as const
/**
 * `accepted`: the webhook named an order, and a refresh of this order was requested. The refresh is skipped if too many
 * refreshes run. `no_order`: the webhook named no order of this provider. `refused`: the signature is wrong, or the
 * provider has no webhooks. `failed`: an internal error, or the webhook is not acknowledged because the payment could
 * not be read.
 */
export type WebhookOutcome = (typeof webhookOutcomes)[number]

export class TopUpCounters {
  /** The webhooks of each payment provider. */
  readonly webhooks = new Map<string, Record<WebhookOutcome, number>>()

  readonly all: ReadonlyArray<MethodCounts> = PaymentMethod.literals.map((method) => ({
    method,
    outcomes: { opened: 0, not_opened: 0, credited: 0, expired: 0, failed: 0 },
    alerts: 0,
    creditedUsdMicro: 0n
  }))

  add(method: PaymentMethod, outcome: TopUpOutcome): void {
    const counts = this.#of(method)
    if (counts !== undefined) counts.outcomes[outcome] += 1
  }

  credited(method: PaymentMethod, usdMicro: bigint): void {
    this.add(method, "credited")
    const counts = this.#of(method)
    if (counts !== undefined) counts.creditedUsdMicro += usdMicro
  }

  alert(method: PaymentMethod): void {
    const counts = this.#of(method)
    if (counts !== undefined) counts.alerts += 1
  }

  /** Counts a webhook. `provider` must be the name of a configured provider, so that the number of names is bounded. */
  webhook(provider: string, outcome: WebhookOutcome): void {
    const outcomes = this.webhooks.get(provider) ?? { accepted: 0, no_order: 0, refused: 0, failed: 0 }
    outcomes[outcome] += 1
    this.webhooks.set(provider, outcomes)
  }

  #of(method: PaymentMethod): MethodCounts | undefined {
    return this.all.find((counts) => counts.method === method)
  }
}

/** The counters of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class TopUpCounts extends Context.Reference<TopUpCounts>()("@tollgate/application/TopUpCounts", {
  defaultValue: () => new TopUpCounters()
}) {}
