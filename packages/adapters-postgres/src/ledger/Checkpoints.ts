/**
 * What running requests have delivered, saved on their holds.
 *
 * A hold that somebody has locked is being settled and needs no checkpoint, so it is passed over: a checkpoint never
 * waits for a settlement.
 */
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { RequestId } from "@tollgate/domain/inference/RequestId"
import type { DedicatedConnection, Statement } from "./DedicatedConnection.ts"

const AT_ONCE = 1_000

/** Only on holds of this node: what was swept meanwhile belongs to nobody. */
export const saveCheckpoints = async (
  connection: DedicatedConnection,
  nodeId: NodeId,
  all: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
): Promise<void> => {
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const some = all.slice(from, from + AT_ONCE)
    const values = [
      some.map(({ requestId }) => requestId),
      some.map(({ checkpoint }) => checkpoint.input),
      some.map(({ checkpoint }) => checkpoint.output),
      nodeId
    ]
    await connection.transact(async () => ({ result: undefined, write: { statement: SAVE, values } }))
  }
}

const SAVE: Statement = {
  name: "save_checkpoints",
  text: `
    UPDATE inference_hold AS hold SET checkpoint_input = seen.input, checkpoint_output = seen.output
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS seen (request_id, input, output)
    JOIN (
      SELECT request_id FROM inference_hold
      WHERE request_id = ANY ($1::uuid[]) AND node_id = $4 FOR UPDATE SKIP LOCKED
    ) AS free USING (request_id)
    WHERE hold.request_id = seen.request_id`
}
