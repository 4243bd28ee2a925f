/**
 * The embedded Postgres of the data directory, for development without DATABASE_URL.
 *
 * Loaded only when it is needed: a production installation does not contain the package.
 */
import { join } from "node:path"
import { fromCluster, type PostgresLayer } from "@tollgate/composition/Postgres"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const embeddedPostgres = ({ DATA_DIR, production }: ServerConfig): PostgresLayer => {
  if (production) {
    return Layer.fail(
      new StartFailed({
        message: "DATABASE_URL: required in production; the embedded Postgres is for development only"
      })
    )
  }
  return fromCluster(
    Effect.flatMap(
      Effect.tryPromise({
        try: () => import("@tollgate/embedded-postgres/EmbeddedPostgres"),
        catch: () => new StartFailed({ message: "the embedded Postgres is not installed; set DATABASE_URL" })
      }),
      ({ start }) => start({ directory: join(DATA_DIR, "postgres") })
    )
  )
}
