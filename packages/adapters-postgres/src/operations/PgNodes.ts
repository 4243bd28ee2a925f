/**
 * Registers this process as a node, in a row that stores the time of its last heartbeat by the database clock, and the
 * last migration of this program.
 *
 * Heartbeats have their own connection, so that no other statement delays them. A heartbeat without a response in time
 * closes the connection, and the next heartbeat opens another one. A node without a row counts as dead, so old rows can
 * be deleted.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { EndedNodes, type Heartbeat, type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PgSettings } from "../client/PgSettings.ts"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { DedicatedConnection, type Statement } from "../ledger/DedicatedConnection.ts"
import { LedgerDriver } from "../ledger/LedgerDriver.ts"
import { lastMigration } from "../migrations/NodeVersions.ts"

const LIMITS = { connectMillis: 5_000, transactionMillis: 5_000, lockMillis: 1_000 }

const deregister = (sql: SqlClient.SqlClient, node: NodeId): Effect.Effect<void> =>
  Effect.asVoid(
    sqlErrorsAreDefects(sql`
      UPDATE gateway_node SET left_at = clock_timestamp() WHERE id = ${node} AND left_at IS NULL`)
  )

/**
 * Writes the heartbeat of a node, and reads the last heartbeats of the other nodes that have open requests and are not
 * deregistered. The upsert also restores a row that another node deleted in the meantime.
 */
const BEAT: Statement = {
  name: "beat",
  text: `
    WITH own AS (
      INSERT INTO gateway_node (id, last_migration) VALUES ($1, $2)
      ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp()
    )
    SELECT DISTINCT hold.node_id, node.beat_at::text
    FROM open_request AS hold LEFT JOIN gateway_node AS node ON node.id = hold.node_id
    WHERE hold.node_id <> $1 AND node.left_at IS NULL`
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* PgSettings
  const self = (yield* nextUuidV7) as NodeId
  const connection = yield* Effect.acquireRelease(
    Effect.map(LedgerDriver, (driver) => new DedicatedConnection(settings, LIMITS, driver)),
    (own) => Effect.sync(() => own.close())
  )
  const beat = Effect.promise(() =>
    connection.transact(async (query) => {
      const rows = (await query(BEAT, [self, lastMigration])) as ReadonlyArray<readonly [NodeId, string | null]>
      return { result: rows.map(([node, beatAt]): Heartbeat => ({ node, beatAt })), write: undefined }
    })
  )
  yield* beat
  yield* sqlErrorsAreDefects(sql`DELETE FROM gateway_node WHERE beat_at < clock_timestamp() - interval '7 days'`)
  return Nodes.of({ self, beat, leave: deregister(sql, self) })
})

export const layer: Layer.Layer<Nodes, never, SqlClient.SqlClient | PgSettings> = Layer.scoped(Nodes, make)

export const endedNodesLayer: Layer.Layer<EndedNodes, never, SqlClient.SqlClient> = Layer.effect(
  EndedNodes,
  Effect.map(SqlClient.SqlClient, (sql) => EndedNodes.of({ deregister: (node) => deregister(sql, node) }))
)
