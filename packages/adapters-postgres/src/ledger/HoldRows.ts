/**
 * Builds and runs the statements for the rows of open requests. A row contains the facts, the hold and the checkpoint
 * of one request. It is inserted at admission, updated by extensions and checkpoints, and locked and deleted when the
 * request is settled. A request that is settled in the transaction of its admission has no row.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Held, Hold, KeyHold } from "@tollgate/domain/ledger/Hold"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { arrayOf, type Columns, columnsOf, type RowArrays } from "../client/SqlValues.ts"
import type { DedicatedConnection, Query, Statement } from "./DedicatedConnection.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

export interface NewHold {
  readonly admission: Admission
  readonly held: Held
}

const HOLD: Columns<NewHold> = {
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
}

const HOLDS = columnsOf(HOLD)
/**
 * The additional columns are written only if a request has a limited key, so other statements spend no time on them.
 */
const HOLDS_OF_COUNTED_KEYS = columnsOf<NewHold>({
  ...HOLD,
  key_pico: ["bigint", ({ held }) => held.hold.key?.budgetPico],
  key_tokens: ["bigint", ({ held }) => held.hold.key?.tokens],
  key_window: ["bigint", ({ held }) => held.hold.key?.window]
})

/**
 * Returns a query that selects the valid keys among these API keys. The query reads the tables, because a cache may
 * contain revoked keys. `ids` is the query parameter with the key ids.
 */
export const validKeys = (ids: string): string => `
  SELECT api_key.id, api_key.counted FROM api_key JOIN app_user ON app_user.id = api_key.user_id
  WHERE api_key.id = ANY (${ids}::uuid[]) AND api_key.revoked_at IS NULL AND app_user.status = 'active'
    AND (api_key.expires_at IS NULL OR api_key.expires_at > now())`

const inserting = (name: string, columns: RowArrays<NewHold>): Part => ({
  name,
  writes: (first) => `
    valid AS (${validKeys(`$${first}`)} AND NOT api_key.counted), held AS (
      INSERT INTO open_request (node_id, ${columns.names})
      SELECT $${first + 1}::uuid, new_hold.* FROM ${columns.unnested(first + 2)} AS new_hold
      RETURNING 1)`,
  precondition: (first) => `(SELECT count(*) FROM valid) = cardinality($${first}::uuid[])
      AND (SELECT count(*) FROM held) = cardinality($${first + 2}::uuid[])`
})

const INSERT = inserting("hold", HOLDS)
const INSERT_COUNTED = inserting("countedhold", HOLDS_OF_COUNTED_KEYS)

/**
 * Returns the statement that inserts the holds. The statement inserts no hold when at least one of the API keys is
 * invalid, or is limited although its hold sets nothing aside for the limits. `WorkingKeys` checks the limited keys.
 */
export const insertHolds = (nodeId: NodeId, holds: ReadonlyArray<NewHold>): WriteStatement => {
  const keys = new Set<ApiKeyId>()
  let isCounted = false
  for (const { admission, held } of holds) {
    if (held.hold.key === undefined) keys.add(admission.principal.keyId)
    else isCounted = true
  }
  const [part, columns] = isCounted ? [INSERT_COUNTED, HOLDS_OF_COUNTED_KEYS] : [INSERT, HOLDS]
  return { part, values: [arrayOf([...keys]), nodeId, ...columns.arrays(holds)] }
}

/** A hold that an extension grows. */
export interface GrownHold {
  readonly requestId: RequestId
  readonly before: Hold
  readonly held: Held
}

const GROWN: Columns<GrownHold> = {
  request_id: ["uuid", ({ requestId }) => requestId],
  plan_before: ["bigint", ({ before }) => before.planTokens],
  payg_before: ["bigint", ({ before }) => before.paygPico],
  plan_account: ["uuid", ({ held }) => held.plan?.id],
  plan_tokens: ["bigint", ({ held }) => held.hold.planTokens],
  payg_account: ["uuid", ({ held }) => held.payg?.id],
  payg_pico: ["bigint", ({ held }) => held.hold.paygPico]
}

const GROWN_HOLDS = columnsOf(GROWN)
const GROWN_HOLDS_OF_COUNTED_KEYS = columnsOf<GrownHold>({
  ...GROWN,
  key_pico: ["bigint", ({ held }) => held.hold.key?.budgetPico]
})

// The columns `plan_account` and `payg_account` are written too, because the customer can get a plan or a first credit
// while the request runs.
const growing = (name: string, columns: RowArrays<GrownHold>, alsoSets: string): Part => ({
  name,
  writes: (first) => `
    grown AS (
      UPDATE open_request AS hold SET plan_account = step.plan_account, plan_tokens = step.plan_tokens,
        payg_account = step.payg_account, payg_pico = step.payg_pico${alsoSets}
      FROM ${columns.unnested(first)} AS step (${columns.names})
      WHERE hold.request_id = step.request_id
        AND hold.plan_tokens = step.plan_before AND hold.payg_pico = step.payg_before
      RETURNING 1)`,
  precondition: (first) => `(SELECT count(*) FROM grown) = cardinality($${first}::uuid[])`
})

const GROW = growing("grow", GROWN_HOLDS, "")
const GROW_COUNTED = growing("countedgrow", GROWN_HOLDS_OF_COUNTED_KEYS, ", key_pico = step.key_pico")

/**
 * Returns the statement that grows the holds. The statement writes nothing when another session has deleted one of the
 * holds or changed its amounts.
 */
export const growHolds = (holds: ReadonlyArray<GrownHold>): WriteStatement =>
  holds.some(({ before }) => before.key !== undefined)
    ? { part: GROW_COUNTED, values: GROWN_HOLDS_OF_COUNTED_KEYS.arrays(holds) }
    : { part: GROW, values: GROWN_HOLDS.arrays(holds) }

/** A hold that a transaction has locked in order to settle or extend it. */
export interface LockedHold {
  readonly requestId: RequestId
  readonly userId: UserId
  readonly modelId: ModelId
  readonly priceId: PriceId
  readonly keyId: ApiKeyId
  readonly hold: Hold
  readonly checkpoint: Checkpoint
}

/** Returns a statement that locks the selected holds and returns the columns that {@link lockedHold} reads. */
export const lockingHolds = (name: string, selection: string): Statement => ({
  name,
  text: `
    SELECT hold.request_id, hold.user_id, hold.model_id, hold.price_id, hold.plan_tokens, hold.payg_pico,
      hold.checkpoint_input, hold.checkpoint_output, hold.api_key_id, hold.key_pico, hold.key_tokens, hold.key_window
    FROM open_request AS hold ${selection}`
})

/** Locks and returns the holds of these requests. A settled request has no hold. */
export const lockHolds = async (query: Query, requestIds: ReadonlyArray<RequestId>): Promise<Map<RequestId, Hold>> => {
  if (requestIds.length === 0) return new Map()
  const locked = (await query(LOCK_HOLDS, [requestIds])).map(lockedHold)
  return new Map(locked.map(({ requestId, hold }) => [requestId, hold]))
}

/** Locks and returns the holds that no other session has locked. `contended` contains the users of the other holds. */
export const lockFreeHolds = async (
  query: Query,
  requestIds: ReadonlyArray<RequestId>
): Promise<{ readonly free: Map<RequestId, Hold>; readonly contended: ReadonlyArray<UserId> }> => {
  if (requestIds.length === 0) return { free: new Map(), contended: [] }
  const [locked, all] = await Promise.all([query(LOCK_FREE_HOLDS, [requestIds]), query(READ_HOLD_USERS, [requestIds])])
  const free = new Map(locked.map(lockedHold).map(({ requestId, hold }) => [requestId, hold]))
  const rows = all as unknown as ReadonlyArray<[requestId: RequestId, userId: UserId]>
  return { free, contended: rows.filter(([requestId]) => !free.has(requestId)).map(([, userId]) => userId) }
}

const OF_REQUESTS = "WHERE request_id = ANY ($1::uuid[]) ORDER BY request_id FOR UPDATE"
const LOCK_HOLDS = lockingHolds("lock_holds", OF_REQUESTS)
const LOCK_FREE_HOLDS = lockingHolds("lock_free_holds", `${OF_REQUESTS} SKIP LOCKED`)

const READ_HOLD_USERS: Statement = {
  name: "read_hold_users",
  text: "SELECT request_id, user_id FROM open_request WHERE request_id = ANY ($1::uuid[])"
}

export const lockedHold = (row: ReadonlyArray<unknown>): LockedHold => {
  const [requestId, userId, modelId, priceId, plan, payg, seenIn, seenOut, keyId, ...key] = row as HoldRow
  return {
    requestId: RequestId(requestId),
    userId,
    modelId: ModelId(modelId),
    priceId: PriceId(priceId),
    keyId,
    hold: withKey(plan, payg, key),
    checkpoint: { input: Tokens(seenIn), output: Tokens(seenOut) }
  }
}

/**
 * The columns of a hold that the limits of its key need. All are null if the key was not a limited key at the
 * admission.
 */
export type KeyHoldColumns = readonly [keyPico: bigint | null, keyTokens: bigint | null, keyWindow: bigint | null]

export const withKey = (plan: bigint, payg: bigint, [pico, tokens, window]: KeyHoldColumns): Hold => {
  const balances = { planTokens: Tokens(plan), paygPico: UsdPico(payg) }
  if (tokens === null || window === null) return balances
  const key: KeyHold = { budgetPico: pico === null ? undefined : UsdPico(pico), tokens: Tokens(tokens), window }
  return { ...balances, key }
}

type HoldRow = readonly [
  requestId: string,
  userId: UserId,
  modelId: string,
  priceId: string,
  planTokens: bigint,
  paygPico: bigint,
  checkpointInput: bigint,
  checkpointOutput: bigint,
  keyId: ApiKeyId,
  ...key: KeyHoldColumns
]

const CHECKPOINT_BATCH_SIZE = 1_000

/**
 * Saves the checkpoints of running streams. Only holds of this node are updated.
 *
 * A locked hold is skipped: usually it is being settled and needs no checkpoint, or is being extended and gets one in
 * the next round. A checkpoint therefore never waits for a lock on a hold.
 */
export const saveCheckpoints = async (
  connection: DedicatedConnection,
  nodeId: NodeId,
  all: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
): Promise<void> => {
  for (let from = 0; from < all.length; from += CHECKPOINT_BATCH_SIZE) {
    const some = all.slice(from, from + CHECKPOINT_BATCH_SIZE)
    const values = [
      some.map(({ requestId }) => requestId),
      some.map(({ checkpoint }) => checkpoint.input),
      some.map(({ checkpoint }) => checkpoint.output),
      nodeId
    ]
    await connection.transact(async () => ({ result: undefined, write: { statement: SAVE_CHECKPOINTS, values } }))
  }
}

const SAVE_CHECKPOINTS: Statement = {
  name: "save_checkpoints",
  text: `
    UPDATE open_request AS hold SET checkpoint_input = seen.input, checkpoint_output = seen.output
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS seen (request_id, input, output)
    JOIN (
      SELECT request_id FROM open_request
      WHERE request_id = ANY ($1::uuid[]) AND node_id = $4 FOR UPDATE SKIP LOCKED
    ) AS free USING (request_id)
    WHERE hold.request_id = seen.request_id`
}

/**
 * Reads these prices, and returns a function that finds a price by its id. A price row never changes, so the rows are
 * not locked.
 */
export const readPrices = async (query: Query, priceIds: ReadonlyArray<PriceId>): Promise<(id: PriceId) => Price> => {
  const rows = await query(READ_PRICES, [[...new Set(priceIds)]])
  const prices = new Map(
    rows.map((row) => {
      const [id, input, cacheWrite, cacheRead, output] = row as PriceRow
      const price: Price = {
        input: PicoPerToken(input),
        cacheWrite: PicoPerToken(cacheWrite),
        cacheRead: PicoPerToken(cacheRead),
        output: PicoPerToken(output)
      }
      return [PriceId(id), price]
    })
  )
  return (id) => {
    const price = prices.get(id)
    if (price === undefined) throw new Error(`there is no price ${id}`)
    return price
  }
}

type PriceRow = readonly [id: string, input: bigint, cacheWrite: bigint, cacheRead: bigint, output: bigint]

const READ_PRICES: Statement = {
  name: "read_prices",
  text: "SELECT id, input, cache_write, cache_read, output FROM price WHERE id = ANY ($1::uuid[])"
}
