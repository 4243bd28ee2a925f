/**
 * Implements the application's port `PaymentProviders` with the payment providers that this deployment configures.
 */
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type PaymentConfig, webhookAddress } from "./PaymentConfig.ts"
import { PAYMENT_PROVIDERS } from "./PaymentProviderRegistry.ts"
import type { Simulated } from "./PaymentSimulation.ts"
import type { PaymentProviderDescriptor } from "./wire/PaymentProviderDescriptor.ts"

type MadeProviders = ReadonlyArray<Effect.Effect<PaymentProvider, never, Scope.Scope>>

export interface ConfiguredProvidersSettings {
  /** The providers that take new payments. If several have the same payment method, the first is used. */
  readonly current: MadeProviders
  /**
   * The providers that took payments under an earlier configuration. Their orders are still refreshed. An earlier
   * provider with the same label as a current provider is ignored, because an order stores only the label. For example,
   * a provider keeps its label when its credentials change, so only the adapter with the new credentials is used. At
   * present, no program sets this member.
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

/**
 * Makes the adapters that production uses, for all providers in the registry that have a simulator, and connects the
 * adapters to the simulators.
 */
export const simulatedProviders = (
  expiryMinutes: PaymentConfig["expiryMinutes"],
  { simulation, ...deployment }: Simulated,
  registry: ReadonlyArray<PaymentProviderDescriptor> = PAYMENT_PROVIDERS
): MadeProviders =>
  registry.flatMap((descriptor) => {
    const counterpart = simulation.counterparts.find(({ name }) => name === descriptor.name)
    if (counterpart === undefined) return []
    const terms = {
      atSimulator: true,
      webhookUrl: webhookAddress(deployment.gatewayUrl, descriptor.name),
      expiryMinutes: expiryMinutes[descriptor.method]
    }
    const configured = Either.map(descriptor.read(counterpart.environment(deployment)), (values) =>
      descriptor.configure(values, terms)
    )
    if (Either.isLeft(configured)) return [Effect.dieMessage(configured.left.join("; "))]
    if (configured.right === undefined) {
      return [Effect.dieMessage(`the simulator of ${descriptor.name} provides no credentials`)]
    }
    const wrap = counterpart.wrap ?? ((provider: PaymentProvider) => provider)
    return [Effect.map(configured.right.make, (provider) => wrap(provider, deployment.simulatorUrl))]
  })
