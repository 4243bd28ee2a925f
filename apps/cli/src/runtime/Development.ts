/**
 * The replacements for a production database and payment providers on a development machine: the embedded Postgres of
 * DATA_DIR, and the payment simulator that a server runs.
 *
 * Loaded only when it is needed: a production installation does not contain these packages.
 */
import { join } from "node:path"
import type { PaymentSimulation } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { fromCluster, type PostgresLayer } from "@tollgate/composition/Postgres"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Effect from "effect/Effect"

/** Joined when a server runs it, started for the duration of the command otherwise. */
export const embeddedPostgres = (dataDir: string): PostgresLayer =>
  fromCluster(
    Effect.flatMap(
      Effect.tryPromise({
        try: () => import("@tollgate/embedded-postgres/EmbeddedPostgres"),
        catch: () => new StartFailed({ message: "the embedded Postgres is not installed; set DATABASE_URL" })
      }),
      ({ start }) => start({ directory: join(dataDir, "postgres") })
    )
  )

/** The simulator belongs to a server: while none runs, the simulated providers do not respond. */
export const paymentSimulation: Effect.Effect<PaymentSimulation> = Effect.map(
  Effect.promise(() => import("@tollgate/simulators/topup/PaymentSimulator")),
  (simulator) => simulator.paymentSimulation
)
