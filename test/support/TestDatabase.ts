/**
 * Creates a database for one test suite, with the schema and only the rows of the migrations. The database is dropped
 * when the scope of the layer ends.
 *
 *     layer(TestDatabase.layer, { excludeTestServices: true })("credits", (it) => { … })
 */
import { randomBytes } from "node:crypto"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Context, Effect, Layer, type Scope } from "effect"
import type * as Pg from "pg"
import { inject } from "vitest"
import { administer, TEMPLATE } from "./TestCluster.ts"

export interface Database {
  /** The settings for further connections of a test: `new Pg.Client(database.settings)`. */
  readonly settings: Pg.ClientConfig
  readonly url: string
}

export class TestDatabase extends Context.Tag("test/TestDatabase")<TestDatabase, Database>() {}

/**
 * Creates a database for tests that use no layer, such as tests that start processes. An `empty` database has no
 * schema.
 */
export const make = (contents: "migrated" | "empty" = "migrated"): Effect.Effect<Database, never, Scope.Scope> =>
  Effect.gen(function* () {
    const name = `test_${randomBytes(8).toString("hex")}`
    const template = contents === "empty" ? "template0" : TEMPLATE
    const socketDir = inject("postgresSocketDir")
    yield* Effect.acquireRelease(
      administer(socketDir, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`),
      () => administer(socketDir, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    )
    return {
      // On a busy machine, many concurrent callers of a test wait long for a connection of the pool.
      settings: { ...PgSettings.fromSocket(socketDir, name), connectionTimeoutMillis: 60_000 },
      url: `postgres://postgres@/${name}?host=${encodeURIComponent(socketDir)}`
    }
  })

export const clientLayer = (
  database: Database
): Layer.Layer<TestDatabase | PgSettings.PgSettings | PgClient | SqlClient> => {
  const settings = PgSettings.layer(database.settings)
  return Layer.mergeAll(
    Layer.succeed(TestDatabase, database),
    settings,
    Layer.orDie(PgPool.layer({ maxConnections: 10 })).pipe(Layer.provide(settings))
  )
}

export const layer: Layer.Layer<TestDatabase | PgSettings.PgSettings | PgClient | SqlClient> = Layer.unwrapScoped(
  Effect.map(make(), clientLayer)
)
