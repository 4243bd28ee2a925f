/**
 * The payment providers of an installation: those with credentials, or a simulator that an app runs in development.
 */
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import type { PaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import type { Simulated } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The address of the simulator that takes this server's payments; undefined when real providers do. */
export class SimulatorAddress extends Context.Tag("@tollgate/composition/SimulatorAddress")<
  SimulatorAddress,
  string | undefined
>() {}

export type PaymentsLayer<R = never> = Layer.Layer<PaymentProviders | SimulatorAddress, never, R>

/** Every provider with credentials. */
export const realPayments = ({ providers }: PaymentConfig): PaymentsLayer =>
  Layer.merge(
    ConfiguredProviders.layer({ current: providers.map(({ make }) => make) }),
    Layer.succeed(SimulatorAddress, undefined)
  )

/** The adapters of all providers, connected to a simulator. */
export const simulatedPayments = ({ expiryMinutes }: PaymentConfig, simulated: Simulated): PaymentsLayer =>
  Layer.merge(
    ConfiguredProviders.layer({ current: ConfiguredProviders.simulatedProviders(expiryMinutes, simulated) }),
    Layer.succeed(SimulatorAddress, simulated.simulatorUrl)
  )

/** Logs which providers take payments, and which of them cannot be used. */
export const logPaymentProviders = Effect.gen(function* () {
  const simulator = yield* SimulatorAddress
  const { all } = yield* PaymentProviders
  if (simulator !== undefined) {
    yield* Effect.logWarning("payments are simulated: no real money moves", { simulator })
  } else if (all.length === 0) {
    yield* Effect.logWarning("no payment provider is configured: resellers cannot top up")
  } else {
    yield* Effect.forEach(all, logProbe, { concurrency: "unbounded", discard: true })
  }
})

/** A provider that cannot be reached now may recover: the server starts all the same. */
const logProbe = ({ label, method, probe }: PaymentProvider): Effect.Effect<void> =>
  Effect.matchEffect(probe, {
    onSuccess: () => Effect.logInfo("payment provider responds", { provider: label, method }),
    onFailure: ({ detail, kind }) =>
      Effect.logError("payment provider cannot be used", { provider: label, method, kind, detail })
  })
