/**
 * The database, as operators and health checks see it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface DatabaseState {
  readonly serverVersion: string
  /** Migrations of this program that are not applied yet. */
  readonly pendingMigrations: ReadonlyArray<string>
  /** By how many milliseconds the database's clock is ahead of this process's clock; negative when it is behind. */
  readonly clockAheadMillis: number
  readonly synchronousCommit: string
}

export class Database extends Context.Tag("@tollgate/application/Database")<
  Database,
  {
    /** Whether the database responds within a second. */
    readonly reachable: Effect.Effect<boolean>
    readonly state: Effect.Effect<DatabaseState>
    /** Identifies this database; the same for every client of it. */
    readonly identity: Effect.Effect<string>
    /** Applies the pending migrations and returns their names. Safe when run twice concurrently. */
    readonly migrate: Effect.Effect<ReadonlyArray<string>>
  }
>() {}
