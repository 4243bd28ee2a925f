/**
 * Holds as rows: written at admission, locked by whoever is going to settle the request, gone with its settlement.
 */

import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import { RequestId } from "@tollgate/domain/inference/RequestId"
import type { Held, Hold } from "@tollgate/domain/ledger/Hold"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Ask, Statement } from "./DedicatedConnection.ts"
import { arrayOf, columnsOf } from "./RowArrays.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

export interface NewHold {
  readonly admission: Admission
  readonly held: Held
}

const HOLD = columnsOf<NewHold>({
  request_id: ["uuid", ({ admission }) => admission.requestId],
  user_id: ["uuid", ({ admission }) => admission.principal.userId],
  api_key_id: ["uuid", ({ admission }) => admission.principal.keyId],
  model_id: ["uuid", ({ admission }) => admission.modelId],
  price_id: ["uuid", ({ admission }) => admission.priceId],
  protocol: ["text", ({ admission }) => admission.protocol],
  streamed: ["boolean", ({ admission }) => admission.streamed],
  plan_account: ["uuid", ({ held }) => held.plan?.id],
  plan_tokens: ["bigint", ({ held }) => held.hold.planTokens],
  payg_account: ["uuid", ({ held }) => held.payg?.id],
  payg_pico: ["bigint", ({ held }) => held.hold.paygPico]
})

/** The keys of these ids that may still be used, whatever any cache said. */
export const validKeys = (ids: string): string => `
  SELECT api_key.id FROM api_key JOIN app_user ON app_user.id = api_key.user_id
  WHERE api_key.id = ANY (${ids}::uuid[]) AND api_key.revoked_at IS NULL AND app_user.status = 'active'`

const INSERT: Part = {
  name: "hold",
  writes: (first) => `
    valid AS (${validKeys(`$${first}`)}), held AS (
      INSERT INTO inference_hold (node_id, ${HOLD.names})
      SELECT $${first + 1}::uuid, * FROM ${HOLD.unnested(first + 2)}
      RETURNING 1)`,
  precondition: (first) => `(SELECT count(*) FROM valid) = cardinality($${first}::uuid[])
      AND (SELECT count(*) FROM held) = cardinality($${first + 2}::uuid[])`
}

/** All of them, or, should one of their keys no longer be valid, none. */
export const insertHolds = (nodeId: NodeId, holds: ReadonlyArray<NewHold>): WriteStatement => {
  const keys = new Set(holds.map(({ admission }) => admission.principal.keyId))
  return { part: INSERT, values: [arrayOf([...keys]), nodeId, ...HOLD.arrays(holds)] }
}

/** A hold that this transaction has locked, to settle it. */
export interface LockedHold {
  readonly requestId: RequestId
  readonly userId: UserId
  readonly modelId: ModelId
  readonly priceId: PriceId
  readonly hold: Hold
  readonly checkpoint: Checkpoint
}

/** A statement that locks the holds `which` names and returns them as {@link lockedHold} reads them. */
export const lockingHolds = (name: string, which: string): Statement => ({
  name,
  text: `
    SELECT hold.request_id, hold.user_id, hold.model_id, hold.price_id, hold.plan_tokens, hold.payg_pico,
      hold.checkpoint_input, hold.checkpoint_output
    FROM inference_hold AS hold ${which}`
})

/** The holds of these requests that are still there. */
export const lockHolds = async (ask: Ask, requestIds: ReadonlyArray<RequestId>): Promise<Map<RequestId, Hold>> => {
  if (requestIds.length === 0) return new Map()
  const locked = (await ask(LOCK, [requestIds])).map(lockedHold)
  return new Map(locked.map(({ requestId, hold }) => [requestId, hold]))
}

/** Those of them that nobody has in hand, and the users of the others. */
export const lockFreeHolds = async (
  ask: Ask,
  requestIds: ReadonlyArray<RequestId>
): Promise<{ readonly free: Map<RequestId, Hold>; readonly busy: ReadonlyArray<UserId> }> => {
  if (requestIds.length === 0) return { free: new Map(), busy: [] }
  const [locked, standing] = await Promise.all([ask(LOCK_FREE, [requestIds]), ask(READ_USERS, [requestIds])])
  const free = new Map(locked.map(lockedHold).map(({ requestId, hold }) => [requestId, hold]))
  const rows = standing as unknown as ReadonlyArray<[requestId: RequestId, userId: UserId]>
  return { free, busy: rows.filter(([requestId]) => !free.has(requestId)).map(([, userId]) => userId) }
}

const OF_REQUESTS = "WHERE request_id = ANY ($1::uuid[]) ORDER BY request_id FOR UPDATE"
const LOCK = lockingHolds("lock_holds", OF_REQUESTS)
const LOCK_FREE = lockingHolds("lock_free_holds", `${OF_REQUESTS} SKIP LOCKED`)

const READ_USERS: Statement = {
  name: "read_hold_users",
  text: "SELECT request_id, user_id FROM inference_hold WHERE request_id = ANY ($1::uuid[])"
}

export const lockedHold = (row: ReadonlyArray<unknown>): LockedHold => {
  const [requestId, userId, modelId, priceId, plan, payg, seenIn, seenOut] = row as HoldRow
  return {
    requestId: RequestId(requestId),
    userId,
    modelId: ModelId(modelId),
    priceId: PriceId(priceId),
    hold: { planTokens: Tokens(plan), paygPico: UsdPico(payg) },
    checkpoint: { input: Tokens(seenIn), output: Tokens(seenOut) }
  }
}

type HoldRow = readonly [
  requestId: string,
  userId: UserId,
  modelId: string,
  priceId: string,
  planTokens: bigint,
  paygPico: bigint,
  checkpointInput: bigint,
  checkpointOutput: bigint
]
