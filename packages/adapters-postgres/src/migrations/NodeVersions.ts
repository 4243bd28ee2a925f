/**
 * Finds the live nodes that cannot run after a pending migration. A node states the last migration of its program with
 * its first heartbeat. A node of a release before `0019_node_versions` states none, so it can be as old as the oldest
 * release that supports upgrades without a stop.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type OlderNode, OlderNodesRun } from "@tollgate/application/operations/Database"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { LOCK_WAITS, type LockWaits, type Migration, migrate, migrations, pending } from "./Migrations.ts"

/** The last migration that needs a stop of all servers. A node that states none counts as a node of this one. */
const LAST_WITH_DOWNTIME = "0015_operator_sessions"

/** The last migration of this program. */
export const lastMigration: string | null = migrations.at(-1)?.name ?? null

interface NodeRow {
  readonly id: NodeId
  readonly beat_at: Date
  readonly last_migration: string | null
}

/** Returns the live nodes that are older than `compatibleSince` of a pending migration. */
export const olderNodes = (
  nodeDeadAfterSeconds: number,
  steps: ReadonlyArray<Migration> = migrations
): Effect.Effect<ReadonlyArray<OlderNode>, never, SqlClient.SqlClient> =>
  Effect.flatMap(pending(steps), (missing) => nodesBefore(missing, nodeDeadAfterSeconds, steps)).pipe(
    sqlErrorsAreDefects
  )

/**
 * Applies the missing migrations. Fails and applies none if a live node cannot run after one of them.
 *
 * The lock blocks the first heartbeat of a starting node until the commit. A node checks the schema again after its
 * first heartbeat. Therefore this query either finds a node that starts at the same time, or the node serves no
 * requests.
 */
export const migrateWithoutOlderNodes = (
  nodeDeadAfterSeconds: number,
  steps: ReadonlyArray<Migration> = migrations,
  waits: LockWaits = LOCK_WAITS
): Effect.Effect<ReadonlyArray<string>, OlderNodesRun, SqlClient.SqlClient> =>
  migrate(steps, waits, (missing) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`LOCK TABLE gateway_node IN SHARE MODE`
      const nodes = yield* nodesBefore(missing, nodeDeadAfterSeconds, steps)
      if (nodes.length > 0) return yield* new OlderNodesRun({ nodes })
    })
  )

/** Returns the live nodes that are older than `compatibleSince` of one of these migrations. */
const nodesBefore = (pending: ReadonlyArray<string>, nodeDeadAfterSeconds: number, steps: ReadonlyArray<Migration>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const missing = new Set(pending)
    const [table] = yield* sql<{ exists: boolean }>`SELECT to_regclass('gateway_node') IS NOT NULL AS exists`
    if (missing.size === 0 || table?.exists !== true) return []
    // `to_jsonb` gives null if the column `last_migration` does not exist, as before `0019_node_versions`.
    const nodes = yield* sql<NodeRow>`
      SELECT id, beat_at, to_jsonb(node) ->> 'last_migration' AS last_migration FROM gateway_node AS node
      WHERE left_at IS NULL AND beat_at >= clock_timestamp() - make_interval(secs => ${nodeDeadAfterSeconds})
      ORDER BY started_at, id`
    const names = steps.map(({ name }) => name)
    // An unknown migration has the index -1, so a node with an unknown last migration counts as older.
    const indexOf = (name: string | undefined) => (name === undefined ? names.length : names.indexOf(name))
    return nodes.flatMap(({ beat_at, id, last_migration: last }) => {
      const own = indexOf(last ?? LAST_WITH_DOWNTIME)
      const endedBy = steps
        .filter(({ compatibleSince, name }) => missing.has(name) && indexOf(compatibleSince) > own)
        .map(({ name }) => name)
      return endedBy.length === 0 ? [] : [{ id, lastMigration: last, beatAt: beat_at, endedBy } satisfies OlderNode]
    })
  })
