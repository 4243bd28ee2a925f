/**
 * Lists the nodes for operators, with the numbers of their open requests.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type NodeId, NodeList } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

interface NodeRow extends PositionRow {
  readonly id: NodeId
  readonly state: "alive" | "dead" | "left"
  readonly started_at: Date
  readonly beat_at: Date
  readonly left_at: Date | null
  readonly open_requests: number
  readonly last_migration: string | null
}

export const layer = ({
  nodeDeadAfterSeconds
}: {
  readonly nodeDeadAfterSeconds: number
}): Layer.Layer<NodeList, never, SqlClient.SqlClient> =>
  Layer.effect(
    NodeList,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { position, below, newestFirst } = yield* listSql("n.started_at", "n.id")
      return {
        page: ({ after, limit }) =>
          Effect.map(
            sql<NodeRow>`SELECT ${position}, n.id, n.started_at, n.beat_at, n.left_at, n.last_migration,
              CASE WHEN n.left_at IS NOT NULL THEN 'left'
                WHEN n.beat_at < now() - make_interval(secs => ${nodeDeadAfterSeconds}) THEN 'dead' ELSE 'alive' END AS state,
              (SELECT count(*)::int FROM open_request r WHERE r.node_id = n.id) AS open_requests
              FROM gateway_node n WHERE ${below(after)} ${newestFirst} LIMIT ${limit}`,
            (rows) =>
              rows.map((row) => ({
                position: toPosition(row),
                id: row.id,
                state: row.state,
                startedAt: row.started_at,
                beatAt: row.beat_at,
                leftAt: row.left_at ?? undefined,
                openRequests: row.open_requests,
                lastMigration: row.last_migration
              }))
          ).pipe(sqlErrorsAreDefects)
      }
    })
  )
