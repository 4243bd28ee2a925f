/**
 * Starts the services that a development server needs on the same machine: the embedded Postgres and the payment
 * simulator.
 *
 * The packages of both services are imported only when the server needs them, because a production deployment may lack
 * these packages.
 */
import { localSimulatorUrl } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
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
 * Connects all payment providers to the payment simulator on `port`. With `starts`, starts a simulator if none listens
 * there. A worker starts none, because its primary process runs the simulator.
 */
export const paymentSimulator = (
  config: ServerConfig,
  port: number,
  { starts }: { readonly starts: boolean }
): PaymentsLayer<Database> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const { paymentSimulation: simulation } = yield* Effect.promise(
        () => import("@tollgate/simulators/topup/PaymentSimulator")
      )
      const gatewayUrl = ownAddress(config)
      const webhooks = gatewayUrl === undefined ? {} : { webhookBase: gatewayUrl }
      const simulatorUrl = starts
        ? (yield* simulation.startOrJoin({ port, ...webhooks })).baseUrl
        : localSimulatorUrl(port)
      const deployment = yield* (yield* Database).identity
      return simulatedPayments(config.payments, { simulation, simulatorUrl, deployment, gatewayUrl })
    })
  )
