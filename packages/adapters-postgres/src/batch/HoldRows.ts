/**
 * Holds as rows: written at admission, taken away by whoever settles the request.
 */

import type { Admission } from "@tollgate/application/ports/InferenceLedger"
import type { NodeId } from "@tollgate/application/ports/Nodes"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { Protocol } from "@tollgate/domain/inference/Protocol"
import { RequestId } from "@tollgate/domain/inference/RequestId"
import type { Held, Hold } from "@tollgate/domain/ledger/Hold"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { type Ask, IN_TRANSACTION, type Statement } from "./DedicatedConnection.ts"
import { insertInto } from "./MultiRowInsert.ts"

export interface NewHold {
  readonly admission: Admission
  readonly held: Held
  readonly nodeId: NodeId
}

export const insertHolds = insertInto<NewHold>("inference_hold", {
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
  payg_pico: ["bigint", ({ held }) => held.hold.paygPico],
  node_id: ["uuid", ({ nodeId }) => nodeId]
})

/** A hold whose row is gone: this transaction settles it. */
export interface TakenHold {
  readonly requestId: RequestId
  readonly userId: UserId
  readonly keyId: ApiKeyId
  readonly modelId: ModelId
  readonly priceId: PriceId
  readonly protocol: Protocol
  readonly streamed: boolean
  readonly hold: Hold
  readonly checkpoint: Checkpoint
  /** As the database wrote it, to the microsecond. */
  readonly heldAt: string
}

/** A statement that deletes the holds `which` names and returns them as {@link takenHold} reads them. */
export const takingHolds = (name: string, which: string): Statement => ({
  name,
  text: `
    DELETE FROM inference_hold WHERE ${IN_TRANSACTION} AND ${which}
    RETURNING request_id, user_id, api_key_id, model_id, price_id, protocol, streamed,
      plan_tokens, payg_pico, checkpoint_input, checkpoint_output, held_at::text`
})

/** The holds of these requests that are still there. */
export const takeHolds = async (ask: Ask, requestIds: ReadonlyArray<RequestId>): Promise<Map<RequestId, TakenHold>> => {
  const taken = new Map<RequestId, TakenHold>()
  if (requestIds.length === 0) return taken
  for (const row of await ask(TAKE, [requestIds])) {
    const hold = takenHold(row)
    taken.set(hold.requestId, hold)
  }
  return taken
}

const TAKE = takingHolds("take_holds", "request_id = ANY ($1::uuid[])")

export const takenHold = (row: ReadonlyArray<unknown>): TakenHold => {
  const [requestId, userId, keyId, modelId, priceId, protocol, streamed, plan, payg, seenIn, seenOut, heldAt] =
    row as HoldRow
  return {
    requestId: RequestId(requestId),
    userId: userId as UserId,
    keyId: keyId as ApiKeyId,
    modelId: ModelId(modelId),
    priceId: PriceId(priceId),
    protocol,
    streamed,
    hold: { planTokens: Tokens(plan), paygPico: UsdPico(payg) },
    checkpoint: { input: Tokens(seenIn), output: Tokens(seenOut) },
    heldAt
  }
}

type HoldRow = readonly [
  requestId: string,
  userId: string,
  keyId: string,
  modelId: string,
  priceId: string,
  protocol: Protocol,
  streamed: boolean,
  planTokens: bigint,
  paygPico: bigint,
  checkpointInput: bigint,
  checkpointOutput: bigint,
  heldAt: string
]
