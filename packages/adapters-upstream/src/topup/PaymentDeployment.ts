/**
 * The payment providers of an installation, as its configuration says: those with credentials, or all of them pointed
 * to the simulator. The adapters are the same in both cases.
 */
import type { PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ConfiguredProviders from "./ConfiguredProviders.ts"
import { type PaymentConfig, webhookAddress } from "./PaymentConfig.ts"
import { PAYMENT_PROVIDERS } from "./PaymentProviderRegistry.ts"
import type { PaymentSimulation, SimulatedDeployment } from "./PaymentSimulation.ts"
import type { PaymentProviderDescriptor } from "./wire/PaymentProviderDescriptor.ts"

export interface Simulated extends SimulatedDeployment {
  readonly simulation: PaymentSimulation
}

/** `simulated` is evaluated only where the simulator takes the payments. */
export const layer = <R>(
  config: PaymentConfig,
  simulated: Effect.Effect<Simulated, never, R>
): Layer.Layer<PaymentProviders, never, R> =>
  config.simulatorPort === undefined
    ? ConfiguredProviders.layer({ current: config.providers.map(({ make }) => make) })
    : Layer.unwrapEffect(
        Effect.map(simulated, (deployment) =>
          ConfiguredProviders.layer({ current: simulatedProviders(config.expiryMinutes, deployment) })
        )
      )

/** Every provider of the registry that has a simulator. */
export const simulatedProviders = (
  expiryMinutes: PaymentConfig["expiryMinutes"],
  { simulation, ...deployment }: Simulated,
  registry: ReadonlyArray<PaymentProviderDescriptor> = PAYMENT_PROVIDERS
): ReadonlyArray<Effect.Effect<PaymentProvider, never, Scope.Scope>> =>
  registry.flatMap((descriptor) => {
    const counterpart = simulation.counterparts.find(({ name }) => name === descriptor.name)
    if (counterpart === undefined) return []
    const terms = {
      simulated: true,
      callbackUrl: webhookAddress(deployment.gatewayUrl, descriptor.name),
      expiryMinutes: expiryMinutes[descriptor.method]
    }
    const configured = Either.map(descriptor.read(counterpart.environment(deployment)), (values) =>
      descriptor.configure(values, terms)
    )
    if (Either.isLeft(configured)) return [Effect.dieMessage(configured.left.join("; "))]
    if (configured.right === undefined) {
      return [Effect.dieMessage(`the simulator of ${descriptor.name} gives no credentials`)]
    }
    const wrap = counterpart.wrap ?? ((provider: PaymentProvider) => provider)
    return [Effect.map(configured.right.make, (provider) => wrap(provider, deployment.simulatorUrl))]
  })
