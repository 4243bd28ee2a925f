/**
 * Starts the local services of a server: the embedded Postgres in the data directory when DATABASE_URL is not set, and the
 * payment simulator when no payment provider is configured.
 *
 * The packages of these services are loaded only when needed: a production installation need not contain them.
 */
import { join } from "node:path"
import { Database } from "@tollgate/application/operations/Database"
import { type PaymentsLayer, simulatedPayments } from "@tollgate/composition/Payments"
import { fromCluster, type PostgresLayer } from "@tollgate/composition/Postgres"
import { ownAddress, type ServerConfig } from "@tollgate/composition/ServerConfig"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const embeddedPostgres = ({ DATA_DIR }: ServerConfig): PostgresLayer =>
  fromCluster(
    Effect.flatMap(
      Effect.tryPromise({
        try: () => import("@tollgate/embedded-postgres/EmbeddedPostgres"),
        catch: () =>
          new StartFailed({
            message: "DATABASE_URL is not set and the embedded Postgres is not installed; set DATABASE_URL"
          })
      }),
      ({ start }) => start({ directory: join(DATA_DIR, "postgres") })
    )
  )

/** Starts the payment simulator on `port`, or joins the simulator that already listens there, and connects all payment
 * providers to it. */
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
