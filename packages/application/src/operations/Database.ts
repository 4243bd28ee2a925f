/**
 * The database as operations see it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface DatabaseState {
  readonly serverVersion: string
  /** Migrations this program knows that the database has not seen. */
  readonly pendingMigrations: ReadonlyArray<string>
  /** Milliseconds by which the database's clock is ahead of ours; negative when behind. */
  readonly clockAheadMillis: number
  readonly synchronousCommit: string
}

export class Database extends Context.Tag("@tollgate/application/Database")<
  Database,
  {
    /** Answers within a second or not at all. */
    readonly reachable: Effect.Effect<boolean>
    readonly state: Effect.Effect<DatabaseState>
    /** Tells this database from every other one; the same for whoever asks. */
    readonly identity: Effect.Effect<string>
    /** Applies what is missing; the names of what was applied. Two at once are safe. */
    readonly migrate: Effect.Effect<ReadonlyArray<string>>
  }
>() {}
