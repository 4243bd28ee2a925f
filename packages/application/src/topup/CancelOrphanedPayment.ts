/**
 * Takes a payment back that a provider may have opened for an order nobody was shown. Best effort: nobody knows the
 * payment, so nobody pays it.
 */
import type { TopUpDraft } from "@tollgate/domain/topup/TopUpOrder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { intentOf } from "./PaymentIntent.ts"
import type { PaymentProviders } from "./PaymentProviders.ts"
import { providerOf } from "./ProviderOfTopUp.ts"
import type { Payer } from "./TopUpOrders.ts"

const PATIENCE = Duration.seconds(15)

export const cancelOrphanedPayment = (draft: TopUpDraft, payer: Payer): Effect.Effect<void, never, PaymentProviders> =>
  Effect.flatMap(providerOf(draft), (provider) => {
    const cancel = Option.getOrUndefined(provider)?.cancel
    if (cancel === undefined) return Effect.void
    return cancel(intentOf(draft, payer)).pipe(
      Effect.disconnect,
      Effect.timeout(PATIENCE),
      Effect.catchAllCause((cause) =>
        Effect.logWarning("a payment that may have been opened was not taken back", { order: draft.id }, cause)
      )
    )
  })
