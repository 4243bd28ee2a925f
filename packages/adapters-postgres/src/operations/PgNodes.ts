/**
 * Registers this process as a node, in a row that stores the time of its last heartbeat by the database clock.
 *
 * A node without a row counts as dead, so old rows can be deleted.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { EndedNodes, type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

const deregister = (sql: SqlClient.SqlClient, node: NodeId): Effect.Effect<void> =>
  Effect.asVoid(
    sqlErrorsAreDefects(sql`
      UPDATE gateway_node SET left_at = clock_timestamp() WHERE id = ${node} AND left_at IS NULL`)
  )

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const self = (yield* nextUuidV7) as NodeId
  // The upsert also restores a row that another node deleted while this node sent no heartbeat.
  const beat = sqlErrorsAreDefects(sql`
    INSERT INTO gateway_node (id) VALUES (${self})
    ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp()`)
  yield* beat
  yield* sqlErrorsAreDefects(sql`DELETE FROM gateway_node WHERE beat_at < clock_timestamp() - interval '7 days'`)
  return Nodes.of({ self, beat: Effect.asVoid(beat), leave: deregister(sql, self) })
})

export const layer: Layer.Layer<Nodes, never, SqlClient.SqlClient> = Layer.effect(Nodes, make)

export const endedNodesLayer: Layer.Layer<EndedNodes, never, SqlClient.SqlClient> = Layer.effect(
  EndedNodes,
  Effect.map(SqlClient.SqlClient, (sql) => EndedNodes.of({ deregister: (node) => deregister(sql, node) }))
)
