/**
 * Reports the state of the database (reachability, version, clock, identity, pending migrations), and migrates it.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Database } from "@tollgate/application/operations/Database"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { incompatible, migrate, pending } from "../migrations/Migrations.ts"
import { migrateWithoutOlderNodes, olderNodes } from "../migrations/NodeVersions.ts"

interface StateRow {
  readonly version: string
  readonly synchronous_commit: string
  readonly now: Date
}

export const layer: Layer.Layer<Database, never, SqlClient.SqlClient> = Layer.scoped(
  Database,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    // Cancelling a statement can take longer than a second, so the cancellation continues in the background.
    const probe = sql`SELECT 1`.pipe(
      Effect.disconnect,
      Effect.timeoutOption("1 second"),
      Effect.map(Option.isSome),
      Effect.catchAll(() => Effect.succeed(false))
    )
    const probes = yield* SingleFlight.make<"database", boolean>(1)
    return {
      // Any client can request the readiness of a server. Concurrent requests for the readiness share one statement, so
      // that they cannot occupy the connections that other requests need.
      reachable: probes.run("database", () => probe, Effect.succeed(false)),

      state: Effect.gen(function* () {
        // The first statement may have to open a connection. The clock is read on a connection that is already open.
        yield* sql`SELECT 1`
        const sentAt = yield* Clock.currentTimeMillis
        const [row] = yield* sql<StateRow>`SELECT current_setting('server_version') AS version,
          current_setting('synchronous_commit') AS synchronous_commit, clock_timestamp() AS now`
        const receivedAt = yield* Clock.currentTimeMillis
        if (row === undefined) return yield* Effect.dieMessage("the database returned no state")
        return {
          serverVersion: row.version,
          pendingMigrations: yield* pending(),
          incompatibleMigrations: yield* incompatible(),
          clockAheadMillis: Math.round(row.now.getTime() - (sentAt + receivedAt) / 2),
          synchronousCommit: row.synchronous_commit
        }
      }).pipe(sqlErrorsAreDefects, withSql),

      // The identity contains the system identifier of the cluster, because database names and host addresses are
      // reused.
      identity: sql<{ identity: string }>`SELECT system_identifier || '/' || oid AS identity
        FROM pg_control_system(), pg_database WHERE datname = current_database()`.pipe(
        Effect.flatMap(([row]) =>
          row === undefined ? Effect.dieMessage("the database returned no identity") : Effect.succeed(row.identity)
        ),
        sqlErrorsAreDefects
      ),

      olderNodes: (nodeDeadAfterSeconds) => withSql(olderNodes(nodeDeadAfterSeconds)),

      migrate: withSql(migrate()),

      migrateWithoutOlderNodes: (nodeDeadAfterSeconds) => withSql(migrateWithoutOlderNodes(nodeDeadAfterSeconds))
    }
  })
)
