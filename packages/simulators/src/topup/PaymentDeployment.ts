/**
 * Who takes the payments of an installation, as its settings say: its providers, or the simulator through the very same
 * adapters.
 */

import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import type { PaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import type { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { announced } from "./AnnouncedOrders.ts"
import { simulatorSettings } from "./SimulatorSettings.ts"

export interface SimulatedDeployment {
  /** Where the simulator is. */
  readonly simulatorUrl: string
  /** Names the database; see the settings of the simulator. */
  readonly deployment: string
  /** Where the simulator reaches a server with its webhooks. Without it payments are only asked for. */
  readonly gatewayUrl: string | undefined
}

/** `simulated` is asked for only where a simulator takes the payments. */
export const layer = <R>(
  config: PaymentConfig,
  simulated: Effect.Effect<SimulatedDeployment, never, R>
): Layer.Layer<PaymentProviders, never, R> =>
  config.simulatorPort === undefined
    ? ConfiguredProviders.layer({ current: config.accounts })
    : Layer.unwrapEffect(Effect.map(simulated, (deployment) => simulatedProviders(config, deployment)))

const simulatedProviders = (
  { expiryMinutes }: PaymentConfig,
  { simulatorUrl, deployment, gatewayUrl }: SimulatedDeployment
) => {
  const { midtrans, tripay, nowPayments, bsc } = simulatorSettings(simulatorUrl, {
    deployment,
    ...(gatewayUrl === undefined ? {} : { gatewayUrl })
  })
  return ConfiguredProviders.layer({
    current: {
      qris: { ...midtrans, expiryMinutes: expiryMinutes.qris },
      hostedQris: { ...tripay, expiryMinutes: expiryMinutes.hosted_qris },
      crypto: { ...nowPayments, expiryMinutes: expiryMinutes.crypto },
      cryptoBep20: { ...bsc, expiryMinutes: expiryMinutes.crypto_bep20 }
    },
    around: (provider) => announced(provider, simulatorUrl)
  })
}
