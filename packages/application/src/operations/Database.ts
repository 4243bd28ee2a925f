/**
 * Declares the operations on the database that operators and health checks use, and the defect of an unavailable
 * database.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { NodeId } from "./Nodes.ts"

/**
 * The database did not respond, refused the work, or closed the connection. Every store can end with this defect. A
 * write that ends with this defect may have succeeded, because the connection can be lost during the commit.
 */
export class DatabaseUnavailable extends Data.TaggedError("DatabaseUnavailable")<{ readonly cause: unknown }> {
  override readonly message = "the database is unavailable"
}

export interface DatabaseState {
  readonly serverVersion: string
  /** The names of the migrations in this program that are not applied to the database yet. */
  readonly pendingMigrations: ReadonlyArray<string>
  /** The names of the applied migrations of a newer release after which this program cannot run. */
  readonly incompatibleMigrations: ReadonlyArray<string>
  /** The time of the database clock minus the time of this process's clock, in milliseconds. */
  readonly clockAheadMillis: number
  readonly synchronousCommit: string
}

/** A live node that cannot run after a pending migration. */
export interface OlderNode {
  readonly id: NodeId
  /** The last migration that its program contains; null if its release does not state it. */
  readonly lastMigration: string | null
  /** The time of its last heartbeat. */
  readonly beatAt: Date
  /** The pending migrations after which it cannot run. */
  readonly endedBy: ReadonlyArray<string>
}

/** The pending migrations were not applied, because each of these live nodes cannot run after at least one of them. */
export class OlderNodesRun extends Data.TaggedError("OlderNodesRun")<{ readonly nodes: ReadonlyArray<OlderNode> }> {}

export class Database extends Context.Tag("@tollgate/application/Database")<
  Database,
  {
    /** Returns true if the database responds within one second. */
    readonly reachable: Effect.Effect<boolean>
    readonly state: Effect.Effect<DatabaseState>
    /** Returns an identifier of the database. Every process that uses this database gets the same identifier. */
    readonly identity: Effect.Effect<string>
    /** Returns the live nodes that must stop before the pending migrations, in the order in which they started. */
    readonly olderNodes: (nodeDeadAfterSeconds: number) => Effect.Effect<ReadonlyArray<OlderNode>>
    /** Applies the pending migrations and returns their names. Several processes can run this effect concurrently. */
    readonly migrate: Effect.Effect<ReadonlyArray<string>>
    /** Does the same as `migrate`, but fails if a live node cannot run after one of the pending migrations. */
    readonly migrateWithoutOlderNodes: (
      nodeDeadAfterSeconds: number
    ) => Effect.Effect<ReadonlyArray<string>, OlderNodesRun>
  }
>() {}
