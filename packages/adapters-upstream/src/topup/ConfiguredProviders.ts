/**
 * The payment providers of this deployment behind the application's port.
 */
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

type MadeProviders = ReadonlyArray<Effect.Effect<PaymentProvider, never, Scope.Scope>>

export interface ConfiguredProvidersSettings {
  /** Take new payments: of each method the first one. */
  readonly current: MadeProviders
  /**
   * Took payments before and are polled for orders that are still open. An earlier account with the label of a current
   * one cannot be told apart from it and is left out.
   */
  readonly earlier?: MadeProviders | undefined
}

export const make = ({
  current,
  earlier = []
}: ConfiguredProvidersSettings): Effect.Effect<typeof PaymentProviders.Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const now = yield* Effect.all(current)
    const before = yield* Effect.all(earlier)
    const all = Arr.dedupeWith([...now, ...before], (a, b) => a.label === b.label)
    return PaymentProviders.of({
      forMethod: (method) => Arr.findFirst(now, (provider) => provider.method === method),
      byLabel: (label) => Arr.findFirst(all, (provider) => provider.label === label),
      all
    })
  })

export const layer = (settings: ConfiguredProvidersSettings): Layer.Layer<PaymentProviders> =>
  Layer.scoped(PaymentProviders, make(settings))
