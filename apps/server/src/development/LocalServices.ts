/**
 * Starts the services that a development server needs on the same machine: the embedded Postgres and the payment
 * simulator.
 *
 * The packages of both services are imported only when the server needs them, because a production deployment may lack
 * these packages.
 */
import { Database } from "@tollgate/application/operations/Database"
import { type PaymentsLayer, simulatedPayments } from "@tollgate/composition/Payments"
import { fromEmbedded, type PostgresLayer } from "@tollgate/composition/Postgres"
import { ownAddress, type ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Starts the embedded Postgres, or joins it if another process already runs it. */
export const embeddedPostgres = ({ DATA_DIR }: ServerConfig): PostgresLayer =>
  fromEmbedded(DATA_DIR, () => import("@tollgate/embedded-postgres/EmbeddedPostgres"))

/**
 * Connects all payment providers to the payment simulator on `port`. Starts the simulator if no simulator listens
 * there.
 */
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
