/**
 * The database, as operators and health checks see it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface DatabaseState {
  readonly serverVersion: string
  /** The names of this program's migrations that are not applied yet. */
  readonly pendingMigrations: ReadonlyArray<string>
  /** The database clock minus this process's clock in milliseconds. */
  readonly clockAheadMillis: number
  readonly synchronousCommit: string
}

export class Database extends Context.Tag("@tollgate/application/Database")<
  Database,
  {
    /** Returns true if the database responds within one second. */
    readonly reachable: Effect.Effect<boolean>
    readonly state: Effect.Effect<DatabaseState>
    /** Returns an identifier of this database, the same for every client. */
    readonly identity: Effect.Effect<string>
    /** Applies the pending migrations and returns their names. Several processes may run it concurrently. */
    readonly migrate: Effect.Effect<ReadonlyArray<string>>
  }
>() {}
