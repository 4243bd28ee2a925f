/**
 * One look at an order: ask its provider, book what it says, credit what is paid.
 *
 *     credited ─▶ nothing to do          crediting ─▶ credit, without asking anybody
 *     else     ─▶ ask ─▶ observe ─▶ crediting? ─▶ credit
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
import { type PaymentProvider, type PaymentProviders, ProviderUnavailable } from "../ports/PaymentProviders.ts"
import { type StoredTopUp, TopUpOrders } from "../ports/TopUpOrders.ts"
import { intentOf, openedOf } from "./PaymentIntent.ts"
import { providerOf } from "./ProviderOfTopUp.ts"

const PATIENCE = Duration.seconds(8)

export const lookAtTopUp = (stored: StoredTopUp): Effect.Effect<TopUpOrder, never, TopUpOrders | PaymentProviders> =>
  Effect.gen(function* () {
    const { order } = stored
    const orders = yield* TopUpOrders
    const provider = yield* providerOf(order)
    if (order.status === "credited" || (order.simulated && Option.isNone(provider))) return order
    if (order.status === "crediting") return yield* orders.credit(order.id)
    if (Option.isNone(provider)) return order

    const seen = yield* ask(provider.value, stored)
    if (Option.isNone(seen)) return order
    const { order: next, alert } = yield* orders.observe(order.id, seen.value)
    if (alert !== undefined) {
      yield* Effect.logWarning("a payment is not what was asked for; nothing was credited", { ...named(order), alert })
    }
    return next.status === "crediting" ? yield* orders.credit(order.id) : next
  })

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
