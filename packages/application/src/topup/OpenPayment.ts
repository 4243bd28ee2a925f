/**
 * From a draft to an order: a provider opens the payment, and one update makes the order seen.
 *
 * Whatever goes wrong, the draft is abandoned and stays unseen. Where the provider may have opened the payment all the
 * same, it is taken back in the background.
 */
import { AmountOutOfRange, PaymentProviderUnavailable } from "@tollgate/domain/topup/TopUpErrors"
import type { TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import { amountPathOf } from "@tollgate/domain/topup/TopUpRequest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { cancelOrphanedPayment } from "./CancelOrphanedPayment.ts"
import { intentOf } from "./PaymentIntent.ts"
import {
  type AmountRejected,
  type OpenedPayment,
  type PaymentProvider,
  type PaymentProviders,
  ProviderUnavailable
} from "./PaymentProviders.ts"
import { type Payer, TopUpOrders } from "./TopUpOrders.ts"

const PATIENCE = Duration.seconds(20)
const RETRY_AFTER_SECONDS = 30
const MOST_OF_A_REASON = 500

export const unavailable = () => new PaymentProviderUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })

/** The scope is where a payment is taken back: longer than a request. */
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
    const takeBack = Effect.forkScoped(cancelOrphanedPayment(draft, payer))

    const given = yield* Effect.either(ask(provider, draft, payer))
    if (given._tag === "Left") {
      const refusal = given.left
      yield* orders.abandon(draft.id, `${refusal._tag}: ${refusal.detail}`.slice(0, MOST_OF_A_REASON))
      if (refusal._tag === "AmountRejected") {
        return yield* new AmountOutOfRange({ path: amountPathOf(draft.method), bounds: null })
      }
      const { provider: label, kind, ambiguous, detail } = refusal
      yield* Effect.logWarning("a payment could not be opened", { order: draft.id, provider: label, kind, detail })
      if (ambiguous) yield* takeBack
      return yield* unavailable()
    }
    const ready = yield* orders.makeReady(draft.id, given.right)
    if (Option.isSome(ready)) return ready.value.order
    // It took so long that the order was given up meanwhile.
    yield* takeBack
    return yield* unavailable()
  })

const ask = (
  provider: PaymentProvider,
  draft: TopUpDraft,
  payer: Payer
): Effect.Effect<OpenedPayment, AmountRejected | ProviderUnavailable> => {
  const broken = (kind: "timeout" | "bad_response", detail: string) =>
    new ProviderUnavailable({ provider: provider.label, kind, ambiguous: true, detail })
  return provider.open(intentOf(draft, payer)).pipe(
    Effect.disconnect,
    Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => broken("timeout", "no answer in time") }),
    Effect.catchAllDefect((defect) => Effect.fail(broken("bad_response", Cause.pretty(Cause.die(defect)))))
  )
}
