/**
 * The embedded Postgres of the data directory, for development without DATABASE_URL.
 *
 * Loaded only when it is needed: a production installation does not contain the package.
 */
import { join } from "node:path"
import { fromCluster, type PostgresLayer } from "@tollgate/composition/Postgres"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Effect from "effect/Effect"

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
