/**
 * The payment simulator, which takes all payments in development while no real provider is configured.
 *
 * Loaded only when it is needed: a production installation does not contain the package.
 */
import { Database } from "@tollgate/application/operations/Database"
import { type PaymentsLayer, simulatedPayments } from "@tollgate/composition/Payments"
import { ownAddress, type ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Starts the simulator on this port, or joins the one that listens there, and points all payment providers to it. */
export const paymentSimulator = (config: ServerConfig, port: number): PaymentsLayer<Database> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const { paymentSimulation: simulation } = yield* Effect.promise(
        () => import("@tollgate/simulators/topup/PaymentSimulator")
      )
      const gatewayUrl = ownAddress(config)
      const { baseUrl: simulatorUrl } = yield* simulation.startOrJoin({
        port,
        ...(gatewayUrl === undefined ? {} : { webhookBase: gatewayUrl })
      })
      const deployment = yield* (yield* Database).identity
      return simulatedPayments(config.payments, { simulation, simulatorUrl, deployment, gatewayUrl })
    })
  )
