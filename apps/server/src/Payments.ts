/**
 * Payments on this server: the simulator where it takes them, the providers behind the application's port, and the
 * duties that come with them.
 */

import * as PaymentDeployment from "@tollgate/adapters-upstream/topup/PaymentDeployment"
import { Database } from "@tollgate/application/operations/Database"
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { topUpRefresh } from "@tollgate/application/topup/TopUpRefresh"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Config, ownAddress } from "./Config.ts"

/** Address of the simulator that takes this server's payments; undefined where it does not. */
export class SimulatorAddress extends Context.Tag("@tollgate/server/SimulatorAddress")<
  SimulatorAddress,
  string | undefined
>() {}

/** Loaded only where the simulator runs: a production server never imports it. */
const loadSimulation = Effect.map(
  Effect.promise(() => import("@tollgate/simulators/topup/PaymentSimulator")),
  ({ paymentSimulation }) => paymentSimulation
)

/** Runs the simulator, or joins one that runs. */
const simulator = (config: Config) =>
  Layer.scoped(
    SimulatorAddress,
    Effect.gen(function* () {
      const { simulatorPort } = config.payments
      if (simulatorPort === undefined) return undefined
      const gatewayUrl = ownAddress(config)
      const simulation = yield* loadSimulation
      const { baseUrl } = yield* simulation.startOrJoin({
        port: simulatorPort,
        ...(gatewayUrl === undefined ? {} : { webhookBase: gatewayUrl })
      })
      return baseUrl
    })
  )

export const providers = (config: Config) =>
  PaymentDeployment.layer(
    config.payments,
    Effect.gen(function* () {
      const simulatorUrl = yield* SimulatorAddress
      if (simulatorUrl === undefined) return yield* Effect.dieMessage("no simulator runs")
      const simulation = yield* loadSimulation
      return { simulation, simulatorUrl, deployment: yield* (yield* Database).identity, gatewayUrl: ownAddress(config) }
    })
  ).pipe(Layer.provideMerge(simulator(config)))

/** Looks at open orders for as long as the server runs. */
export const keeper = Layer.scopedDiscard(Effect.forkScoped(topUpRefresh()))

/** Says who takes payments, and which of them cannot be used. */
export const announce = Effect.gen(function* () {
  const simulatorAddress = yield* SimulatorAddress
  const { all } = yield* PaymentProviders
  if (simulatorAddress !== undefined) {
    yield* Effect.logWarning("payments are simulated: no money is real", { simulator: simulatorAddress })
  } else if (all.length === 0) {
    yield* Effect.logWarning("no payment provider is configured: nobody can top up")
  } else {
    yield* Effect.forEach(all, probed, { concurrency: "unbounded", discard: true })
  }
})

/** A provider that is away today may be back tomorrow: no reason not to serve. */
const probed = ({ label, method, probe }: PaymentProvider): Effect.Effect<void> =>
  Effect.matchEffect(probe, {
    onSuccess: () => Effect.logInfo("payment provider answers", { provider: label, method }),
    onFailure: ({ detail, kind }) =>
      Effect.logError("payment provider cannot be used", { provider: label, method, kind, detail })
  })
