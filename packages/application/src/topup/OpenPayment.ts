/**
 * Opens the payment of a draft order at the provider, then makes the draft a visible order.
 *
 * After a failure the draft is abandoned and stays invisible. The provider may have opened the payment although the
 * request failed. The payment of an abandoned draft is cancelled in the background if the provider supports
 * cancellation.
 */
import { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import type { TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import { AmountOutOfRange, amountPathOf } from "@tollgate/domain/topup/TopUpRequest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { intentOf, providerOf } from "./OrderPayment.ts"
import {
  type AmountRejected,
  type OpenedPayment,
  type PaymentProvider,
  type PaymentProviders,
  ProviderUnavailable
} from "./PaymentProviders.ts"
import { type Payer, TopUpOrders } from "./TopUpOrders.ts"

const OPEN_TIMEOUT = Duration.seconds(20)
const CANCEL_TIMEOUT = Duration.seconds(15)
const RETRY_AFTER_SECONDS = 30
const MAX_REASON_LENGTH = 500

export const unavailable = () => new PaymentProviderUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })

/**
 * Opens a payment. The cancellation of the payment of an abandoned draft runs in the scope of the layer
 * `OrderPayments`, so it continues after the request.
 */
export const openPayment = (
  provider: PaymentProvider,
  draft: TopUpDraft,
  payer: Payer
): Effect.Effect<
  TopUpOrder,
  AmountOutOfRange | PaymentProviderUnavailable,
  TopUpOrders | PaymentProviders | Scope.Scope
> =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const cancelInBackground = Effect.forkScoped(cancelAbandonedPayment(draft, payer))

    const opened = yield* Effect.either(open(provider, draft, payer))
    if (opened._tag === "Left") {
      const refusal = opened.left
      yield* orders.abandon(draft.id, `${refusal._tag}: ${refusal.detail}`.slice(0, MAX_REASON_LENGTH))
      if (refusal._tag === "AmountRejected") {
        return yield* new AmountOutOfRange({ path: amountPathOf(draft.method), bounds: null })
      }
      const { provider: label, kind, ambiguous, detail } = refusal
      yield* Effect.logWarning("a payment could not be opened", { order: draft.id, provider: label, kind, detail })
      if (ambiguous) yield* cancelInBackground
      return yield* unavailable()
    }
    const ready = yield* orders.makeReady(draft.id, opened.right)
    if (Option.isSome(ready)) return ready.value.order
    // The payment was opened so late that a background task has already abandoned the draft as stale.
    yield* cancelInBackground
    return yield* unavailable()
  })

const open = (
  provider: PaymentProvider,
  draft: TopUpDraft,
  payer: Payer
): Effect.Effect<OpenedPayment, AmountRejected | ProviderUnavailable> => {
  const failure = (kind: "timeout" | "bad_response", detail: string) =>
    new ProviderUnavailable({ provider: provider.label, kind, ambiguous: true, detail })
  return provider.open(intentOf(draft, payer)).pipe(
    Effect.disconnect,
    Effect.timeoutFail({ duration: OPEN_TIMEOUT, onTimeout: () => failure("timeout", "no response in time") }),
    Effect.catchAllDefect((defect) => Effect.fail(failure("bad_response", Cause.pretty(Cause.die(defect)))))
  )
}

/**
 * Cancels a payment if its provider is configured and supports cancellation. A failure is only logged: the gateway has
 * shown the payment instructions to no payer. If the payment is paid nevertheless, its webhook alerts an operator
 * (`HandleWebhook.ts`).
 */
export const cancelAbandonedPayment = (draft: TopUpDraft, payer: Payer): Effect.Effect<void, never, PaymentProviders> =>
  Effect.flatMap(providerOf(draft), (provider) => {
    const cancel = Option.getOrUndefined(provider)?.cancel
    if (cancel === undefined) return Effect.void
    return cancel(intentOf(draft, payer)).pipe(
      Effect.disconnect,
      Effect.timeout(CANCEL_TIMEOUT),
      Effect.catchAllCause((cause) =>
        Effect.logWarning("a payment that may have been opened was not cancelled", { order: draft.id }, cause)
      )
    )
  })
