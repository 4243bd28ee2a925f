/**
 * Connects commands on a development machine to the embedded Postgres in DATA_DIR and to the payment simulator of a
 * running server.
 *
 * Commands import this module only when they need it: a production deployment does not contain its packages.
 */
import { join } from "node:path"
import type { PaymentSimulation } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { fromCluster, type PostgresLayer } from "@tollgate/composition/Postgres"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Effect from "effect/Effect"

/** Joins the embedded Postgres of a running server, or starts one for the duration of the command. */
export const embeddedPostgres = (dataDir: string): PostgresLayer =>
  fromCluster(
    Effect.flatMap(
      Effect.tryPromise({
        try: () => import("@tollgate/embedded-postgres/EmbeddedPostgres"),
        catch: () =>
          new StartFailed({
            message: "DATABASE_URL is not set and the embedded Postgres is not installed; set DATABASE_URL"
          })
      }),
      ({ start }) => start({ directory: join(dataDir, "postgres") })
    )
  )

/** Connects to the simulator of a running server. Without a running server, the simulated providers do not respond. */
export const paymentSimulation: Effect.Effect<PaymentSimulation> = Effect.map(
  Effect.promise(() => import("@tollgate/simulators/topup/PaymentSimulator")),
  (simulator) => simulator.paymentSimulation
)
