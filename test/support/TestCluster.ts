/**
 * Defines the values that the global setup provides to the test files, and runs statements in the Postgres cluster of
 * the tests.
 */
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Effect } from "effect"
import * as Pg from "pg"

declare module "vitest" {
  export interface ProvidedContext {
    /** The file to which each worker appends the number of replies that it compared with the OpenAPI document. */
    readonly checkedReplies: string
    readonly postgresSocketDir: string
    /**
     * The folder of the bundled programs. It is inside the repository, so that a bundle finds the packages in
     * `node_modules`.
     */
    readonly bundles: string
  }
}

/**
 * The migrated database from which the test databases are copied. Postgres refuses to copy a database while a client is
 * connected to it.
 */
export const TEMPLATE = "tollgate_template"

export const administer = (socketDir: string, statement: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const client = new Pg.Client(PgSettings.fromSocket(socketDir))
    await client.connect()
    await client.query(statement).finally(() => client.end())
  })
