/**
 * The Postgres cluster and the folders of a test run, shared by the setup and the suites.
 */
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Effect } from "effect"
import * as Pg from "pg"

declare module "vitest" {
  export interface ProvidedContext {
    readonly postgresSocketDir: string
    /** The folder of the bundled servers. It is inside the repository, so that unbundled packages are found. */
    readonly bundles: string
  }
}

/** The migrated template database. It has no connections; the test databases are copies of it. */
export const TEMPLATE = "tollgate_template"

export const administer = (socketDir: string, statement: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const client = new Pg.Client(PgSettings.fromSocket(socketDir))
    await client.connect()
    await client.query(statement).finally(() => client.end())
  })
