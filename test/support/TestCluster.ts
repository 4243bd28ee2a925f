/**
 * The Postgres and the files of the run: what its setup and the suites agree on.
 */
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Effect } from "effect"
import * as Pg from "pg"

declare module "vitest" {
  export interface ProvidedContext {
    readonly postgresSocketDir: string
    /** Where servers are bundled to: inside the repository, so that packages which are not bundled are found. */
    readonly bundles: string
  }
}

/** A migrated database that nobody connects to; the others are copies of it. */
export const TEMPLATE = "tollgate_template"

export const administer = (socketDir: string, statement: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const client = new Pg.Client(PgSettings.fromSocket(socketDir))
    await client.connect()
    await client.query(statement).finally(() => client.end())
  })
