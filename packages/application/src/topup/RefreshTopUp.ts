/**
 * One look at an order: ask its provider, book what it says, credit what is paid.
 *
 *     crediting ─▶ credit, without asking anybody
 *     else      ─▶ ask ─▶ observe ─▶ crediting? ─▶ credit
 *
 * A credited order stays credited, but what has come for it besides is seen (gap D8).
 *
 * The provider is asked outside any transaction. One that does not answer, or not in time, changes nothing, and the
 * order is what it was (gap D7). Observing and crediting are two transactions: a crash between them leaves a
 * `crediting` order, and the next look goes on from there.
 */
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { intentOf, openedOf } from "./PaymentIntent.ts"
import { type PaymentProvider, type PaymentProviders, ProviderUnavailable } from "./PaymentProviders.ts"
import { providerOf } from "./ProviderOfTopUp.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

const PATIENCE = Duration.seconds(8)

export interface Looked {
  readonly order: TopUpOrder
  /** Whether the order is now as its provider says; otherwise it is as it was stored. */
  readonly answered: boolean
}

export const lookAtTopUp = (stored: StoredTopUp): Effect.Effect<Looked, never, TopUpOrders | PaymentProviders> =>
  Effect.gen(function* () {
    const { order } = stored
    const orders = yield* TopUpOrders
    const provider = yield* providerOf(order)
    if (order.simulated && Option.isNone(provider)) return unanswered(order)
    if (order.status === "crediting") return { order: yield* orders.credit(order.id), answered: true }
    if (Option.isNone(provider)) return unanswered(order)

    const seen = yield* ask(provider.value, stored)
    if (Option.isNone(seen)) return unanswered(order)
    const { order: next, alert } = yield* orders.observe(order.id, seen.value)
    if (alert !== undefined) {
      yield* Effect.logWarning("a payment is not what was asked for; nothing was credited", { ...named(order), alert })
    }
    return { order: next.status === "crediting" ? yield* orders.credit(order.id) : next, answered: true }
  })

export const unanswered = (order: TopUpOrder): Looked => ({ order, answered: false })

const ask = (provider: PaymentProvider, stored: StoredTopUp): Effect.Effect<Option.Option<PaymentObservation>> =>
  provider.check(intentOf(stored.order, stored.payer), openedOf(stored)).pipe(
    Effect.disconnect,
    Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => tooSlow(provider) }),
    Effect.asSome,
    // A provider that breaks is one that does not answer.
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logWarning("a payment provider did not answer", named(stored.order), cause), Option.none())
    )
  )

const tooSlow = ({ label }: PaymentProvider) =>
  new ProviderUnavailable({ provider: label, kind: "timeout", ambiguous: false, detail: "no answer in time" })

const named = ({ id, provider }: TopUpOrder) => ({ order: id, provider })
