/**
 * Refreshes one order: reads the state of its payment from the provider, records this state (the observation), and
 * credits a paid order.
 *
 *     crediting ─▶ credit, without a request to the provider
 *     else      ─▶ read the state ─▶ record the observation ─▶ crediting? ─▶ credit
 *
 * A credited order stays credited, but further payments for it are recorded (docs/reference/reseller.md#d8).
 *
 * The request to the provider is made outside a transaction. If the request fails or times out, the order is unchanged
 * (docs/reference/reseller.md#d7). Recording and crediting are two transactions. After a crash between them, the order
 * is `crediting`, and the next refresh credits the order.
 */
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { intentOf, openedOf, providerOf } from "./OrderPayment.ts"
import { type PaymentProvider, type PaymentProviders, ProviderUnavailable } from "./PaymentProviders.ts"
import { type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

const PROVIDER_TIMEOUT = Duration.seconds(8)

export interface RefreshResult {
  readonly order: TopUpOrder
  /**
   * False if the order was not refreshed, for example because its provider is not configured, because the request to
   * the provider failed, or because too many refreshes run.
   */
  readonly refreshed: boolean
}

export const refreshOrder = (
  stored: StoredTopUp
): Effect.Effect<RefreshResult, never, TopUpOrders | PaymentProviders> =>
  Effect.gen(function* () {
    const { order } = stored
    const orders = yield* TopUpOrders
    const provider = yield* providerOf(order)
    // A simulated order is credited only while its simulator or sandbox is configured (docs/reference/reseller.md#x6).
    if (order.simulated && Option.isNone(provider)) return notRefreshed(order)
    if (order.status === "crediting") return { order: yield* orders.credit(order.id), refreshed: true }
    if (Option.isNone(provider)) return notRefreshed(order)

    const observation = yield* provider.value.refresh(intentOf(order, stored.payer), openedOf(stored)).pipe(
      Effect.disconnect,
      Effect.timeoutFail({ duration: PROVIDER_TIMEOUT, onTimeout: () => timedOut(provider.value) }),
      Effect.asSome,
      // An exception in the adapter is handled like a failed request to the provider.
      Effect.catchAllCause((cause) =>
        Effect.as(
          Effect.logWarning("the state of a payment could not be read from its provider", logged(order), cause),
          Option.none<PaymentObservation>()
        )
      )
    )
    if (Option.isNone(observation)) return notRefreshed(order)
    const { order: next, alert } = yield* orders.recordObservation(order.id, observation.value)
    if (alert !== undefined) {
      yield* Effect.logWarning("an operator must inspect a payment; this alert changed no balance", {
        ...logged(order),
        alert
      })
    }
    return { order: next.status === "crediting" ? yield* orders.credit(order.id) : next, refreshed: true }
  })

export const notRefreshed = (order: TopUpOrder): RefreshResult => ({ order, refreshed: false })

const timedOut = ({ label }: PaymentProvider) =>
  new ProviderUnavailable({ provider: label, kind: "timeout", ambiguous: false, detail: "no response in time" })

const logged = ({ id, provider }: TopUpOrder) => ({ order: id, provider })
