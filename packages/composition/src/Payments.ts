/**
 * Builds the payment providers of a deployment: either the real providers whose credentials are configured, or, outside
 * production, simulated providers.
 */
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import type { PaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import type { Simulated } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The URL of the simulator that takes the payments of this server; undefined if the providers are real. */
export class SimulatorUrl extends Context.Tag("@tollgate/composition/SimulatorUrl")<
  SimulatorUrl,
  string | undefined
>() {}

export type PaymentsLayer<R = never> = Layer.Layer<PaymentProviders | SimulatorUrl, never, R>

/** Builds every provider whose credentials are configured. */
export const realPayments = ({ providers }: PaymentConfig): PaymentsLayer =>
  Layer.merge(
    ConfiguredProviders.layer({ current: providers.map(({ make }) => make) }),
    Layer.succeed(SimulatorUrl, undefined)
  )

/** Builds the adapters of all providers, which send their requests to a simulator. */
export const simulatedPayments = ({ expiryMinutes }: PaymentConfig, simulated: Simulated): PaymentsLayer =>
  Layer.merge(
    ConfiguredProviders.layer({ current: ConfiguredProviders.simulatedProviders(expiryMinutes, simulated) }),
    Layer.succeed(SimulatorUrl, simulated.simulatorUrl)
  )

/**
 * Logs that payments are simulated, or that no payment provider is configured. If neither is true, logs for each
 * payment provider whether its probe succeeds.
 */
export const logPaymentProviders = Effect.gen(function* () {
  const simulator = yield* SimulatorUrl
  const { all } = yield* PaymentProviders
  if (simulator !== undefined) {
    yield* Effect.logWarning("payments are simulated: no real money is transferred", { simulator })
  } else if (all.length === 0) {
    yield* Effect.logWarning("no payment provider is configured: resellers cannot top up")
  } else {
    yield* Effect.forEach(all, logProbe, { concurrency: "unbounded", discard: true })
  }
})

/**
 * Probes a provider and logs the result. A failed probe does not stop the server, because the provider can recover
 * later.
 */
const logProbe = ({ label, method, probe }: PaymentProvider): Effect.Effect<void> =>
  Effect.matchEffect(probe, {
    onSuccess: () => Effect.logInfo("payment provider responds", { provider: label, method }),
    onFailure: ({ detail, kind }) =>
      Effect.logError("payment provider cannot be used", { provider: label, method, kind, detail })
  })
