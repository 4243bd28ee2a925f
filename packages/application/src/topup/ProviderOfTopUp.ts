/**
 * Who is asked about an order: whoever took its payment, and nobody else. Simulated money is only ever believed by a
 * simulator, and real money never.
 */
import type { TopUpDraft } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type PaymentProvider, PaymentProviders } from "./PaymentProviders.ts"

export const providerOf = ({
  provider,
  simulated
}: Pick<TopUpDraft, "provider" | "simulated">): Effect.Effect<
  Option.Option<PaymentProvider>,
  never,
  PaymentProviders
> =>
  Effect.map(PaymentProviders, ({ byLabel }) =>
    Option.filter(byLabel(provider), (found) => found.simulated === simulated)
  )
