/**
 * Connects commands on a development machine to the embedded Postgres in DATA_DIR and to the payment simulator of a
 * running server.
 *
 * The packages of this Postgres and of the simulator are imported only when a command needs them, because a production
 * deployment may lack these packages.
 */
import type { PaymentSimulation } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { fromEmbedded, type PostgresLayer } from "@tollgate/composition/Postgres"
import * as Effect from "effect/Effect"

/**
 * Joins the embedded Postgres of a running server. If no server runs, starts an embedded Postgres, which stops when the
 * command ends.
 */
export const embeddedPostgres = (dataDir: string): PostgresLayer =>
  fromEmbedded(dataDir, () => import("@tollgate/embedded-postgres/EmbeddedPostgres"))

/**
 * The payment simulation, whose payment providers send requests to the simulator of a running server. If no server
 * runs, the requests fail.
 */
export const paymentSimulation: Effect.Effect<PaymentSimulation> = Effect.map(
  Effect.promise(() => import("@tollgate/simulators/topup/PaymentSimulator")),
  (simulator) => simulator.paymentSimulation
)
