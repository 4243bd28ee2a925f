/**
 * Wraps the BSC adapter so that it also registers each order with the simulator. The control page can then pay an order
 * by its order number. The JSON-RPC protocol of a chain has no order numbers.
 */
import type { OpenedPayment, PaymentIntent, PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"

const TIMEOUT_MILLIS = 1_000

/**
 * Registers an order at the simulator when the payment of the order is opened, and again at each refresh, because the
 * simulator loses all orders when it restarts.
 */
export const registeringOrders = (provider: PaymentProvider, simulatorUrl: string): PaymentProvider => ({
  ...provider,
  open: (intent) => Effect.tap(provider.open(intent), (opened) => register(simulatorUrl, intent, opened)),
  refresh: (intent, opened) => Effect.zipRight(register(simulatorUrl, intent, opened), provider.refresh(intent, opened))
})

/** Tries to register an order. Ignores failures, because tokens can also be sent to an unregistered address. */
const register = (
  simulatorUrl: string,
  { orderNumber }: PaymentIntent,
  { instructions }: OpenedPayment
): Effect.Effect<void> => {
  if (instructions._tag !== "Bep20") return Effect.void
  const order = {
    order_number: orderNumber,
    deposit_address: instructions.depositAddress,
    contract_address: instructions.contractAddress,
    expected_raw: instructions.expectedRaw.toString()
  }
  return Effect.tryPromise(async (interrupted) => {
    const response = await fetch(`${simulatorUrl}/bsc/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(order),
      signal: AbortSignal.any([interrupted, AbortSignal.timeout(TIMEOUT_MILLIS)])
    })
    await response.body?.cancel()
  }).pipe(Effect.ignore)
}
