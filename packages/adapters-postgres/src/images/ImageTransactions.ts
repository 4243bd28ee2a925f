/**
 * Defines the three transactions of image requests: one begins a request, one finishes a request, and one abandons
 * expired requests.
 *
 * Each transaction locks rows in the order image request, hold, accounts, limited key. The domain rules make the
 * decisions.
 */
import type { FinishedImage, ImageAdmission } from "@tollgate/application/images/ImageRequests"
import type { Measured } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import { type ImageOutcome, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import type { Settlement } from "@tollgate/domain/ledger/Settlement"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Either from "effect/Either"
import type { Admitted, WorkTypes } from "../ledger/Batch.ts"
import { lockKeys, WorkingKeys } from "../ledger/CountedKeys.ts"
import type { BoundStatement, Decided, Query, Statement } from "../ledger/DedicatedConnection.ts"
import { insertHolds, lockedHold, lockHolds, lockingHolds, readPrices, validKeys } from "../ledger/HoldRows.ts"
import { decideAdmission } from "../ledger/LedgerDecisions.ts"
import { ownerOf } from "../ledger/LedgerWork.ts"
import { lockAccounts } from "../ledger/LockedRows.ts"
import type { ReapedBatch } from "../ledger/OrphanReaper.ts"
import { type NewSettlement, settleHold, settleHolds } from "../ledger/SettlementRows.ts"
import { inOneStatement } from "../ledger/WriteStatement.ts"
import { beginImage, endImages, lockExpired, lockRelated, lockState } from "./ImageRows.ts"

type BeginRefusal =
  | IdempotencyKeyReused
  | ImageConcurrencyLimit
  | InsufficientBalance
  | InvalidApiKey
  | KeyBudgetExceeded
  | KeyRateLimited

export interface ImageTypes extends WorkTypes {
  readonly admission: ImageAdmission
  readonly extension: never
  readonly settlement: FinishedImage
  readonly held: "held"
  readonly refusal: BeginRefusal
  readonly settled: SettledImage
}

/** A finished request. */
export interface SettledImage {
  readonly outcome: ImageOutcome
  readonly settlement: Settlement
}

/**
 * `begin again`: the transaction abandoned an expired request of the user, so the transaction must be repeated to begin
 * the new request.
 */
export type Begun = Admitted<ImageTypes> | "begin again"

/** Retry delay for a client when the user already has a running image request. */
const RETRY_AFTER_SECONDS = 5

const HELD: Begun = Either.right("held")
const GONE: Begun = Either.right("gone")

export const begin = async (
  query: Query,
  image: ImageAdmission,
  nodeId: NodeId,
  leaseSeconds: number
): Promise<Decided<Begun>> => {
  const { admission } = image
  const related = await lockRelated(query, image)
  const itself = related.find(({ requestId }) => requestId === admission.requestId)
  if (itself !== undefined) return decided(itself.running ? HELD : GONE)
  if (related.some(({ sameKey }) => sameKey)) return refused(new IdempotencyKeyReused())
  const running = related.find(({ running }) => running)
  if (running?.leaseAlive) return refused(new ImageConcurrencyLimit({ retryAfterSeconds: RETRY_AFTER_SECONDS }))
  if (running !== undefined) return { result: "begin again", write: await abandon(query, [running.requestId]) }

  const owner = ownerOf(admission)
  const { keyId } = admission.principal
  const [valid, accounts, counted] = await Promise.all([
    query(READ_KEY, [[keyId]]),
    lockAccounts(query, [owner]),
    lockKeys(query, [keyId])
  ])
  if (valid.length === 0) return refused(new InvalidApiKey({ reason: "unknown" }))
  const keys = new WorkingKeys(counted)
  const held = decideAdmission(admission, accounts, keys)
  if (Either.isLeft(held)) return refused(held.left)
  return {
    result: HELD,
    write: inOneStatement([
      beginImage(image, leaseSeconds),
      ...accounts.changes,
      ...keys.changes,
      insertHolds(nodeId, [{ admission, held: held.right }])
    ])
  }
}

const decided = (result: Begun): Decided<Begun> => ({ result, write: undefined })
const refused = (refusal: BeginRefusal): Decided<Begun> => decided(Either.left(refusal))

const READ_KEY: Statement = { name: "valid_image_key", text: validKeys("$1") }

/**
 * Finishes and settles a request. The result is undefined if the request is already abandoned, or if a sweep has
 * already settled its hold. `maybeCommitted` is the result of an earlier attempt whose commit outcome is unknown.
 */
export const finish = async (
  query: Query,
  { admission, durationMillis, outcome }: FinishedImage,
  maybeCommitted: SettledImage | undefined
): Promise<Decided<SettledImage | undefined>> => {
  const { price, requestId } = admission
  const state = await lockState(query, requestId)
  if (state !== "running")
    return { result: state === maybeCommitted?.outcome.state ? maybeCommitted : undefined, write: undefined }
  const owner = ownerOf(admission)
  const { keyId } = admission.principal
  const [holds, accounts, counted] = await Promise.all([
    lockHolds(query, [requestId]),
    lockAccounts(query, [owner]),
    lockKeys(query, [keyId])
  ])
  const hold = holds.get(requestId)
  // A sweep considered the node of the request dead, and settled the hold without a charge.
  if (hold === undefined) return { result: undefined, write: inOneStatement([endImages([abandoned(requestId)])]) }
  const ended = outcome()
  const { charge, dispatched, ending } = ended
  const measured: Measured = { ending, charge, ttftMillis: undefined, durationMillis }
  const keys = new WorkingKeys(counted)
  const settled = settleHold({ requestId, owner, keyId, hold }, measured, price, accounts, keys)
  return {
    result: { outcome: ended, settlement: settled.settlement },
    write: inOneStatement([
      endImages([{ requestId, state: ended.state, dispatched }]),
      settleHolds([settled]),
      ...accounts.changes,
      ...keys.changes
    ])
  }
}

/** Abandons a batch of requests with an expired lease. */
export const abandonExpired = async (
  query: Query,
  excluded: ReadonlyArray<RequestId>,
  batchSize: number,
  onLocked: (requestIds: ReadonlyArray<RequestId>) => void
): Promise<Decided<ReapedBatch>> => {
  const requestIds = await lockExpired(query, excluded, batchSize)
  onLocked(requestIds)
  const result: ReapedBatch = { taken: requestIds.length, skipped: [], writtenOff: UsdPico(0n) }
  return { result, write: requestIds.length === 0 ? undefined : await abandon(query, requestIds) }
}

/**
 * Returns the statement that ends locked requests without a charge. A sweep may already have settled their holds, also
 * without a charge.
 */
const abandon = async (query: Query, requestIds: ReadonlyArray<RequestId>): Promise<BoundStatement | undefined> => {
  const holds = (await query(LOCK_HOLDS, [requestIds])).map(lockedHold)
  const ends = endImages(requestIds.map(abandoned))
  if (holds.length === 0) return inOneStatement([ends])
  const countedKeys = new Set(holds.filter(({ hold }) => hold.key !== undefined).map(({ keyId }) => keyId))
  const [prices, accounts, counted] = await Promise.all([
    readPrices(
      query,
      holds.map(({ priceId }) => priceId)
    ),
    lockAccounts(query, holds),
    lockKeys(query, [...countedKeys])
  ])
  const keys = new WorkingKeys(counted)
  const settlements = holds.map(
    ({ hold, keyId, modelId, priceId, requestId, userId }): NewSettlement =>
      settleHold({ requestId, owner: { userId, modelId }, keyId, hold }, NOTHING, prices(priceId), accounts, keys)
  )
  return inOneStatement([ends, settleHolds(settlements), ...accounts.changes, ...keys.changes])
}

const LOCK_HOLDS = lockingHolds(
  "lock_image_holds",
  "WHERE request_id = ANY ($1::uuid[]) ORDER BY request_id FOR UPDATE"
)

const CLIENT_GONE: ImageOutcome = outcomeOf({ _tag: "ClientGone", usage: undefined }, true)
const abandoned = (requestId: RequestId) => ({
  requestId,
  state: CLIENT_GONE.state,
  dispatched: CLIENT_GONE.dispatched
})

/** Measurement of an abandoned request. The time at which its processing ended is unknown, so the duration is 0. */
const NOTHING: Measured = { ending: "failed", charge: CLIENT_GONE.charge, ttftMillis: undefined, durationMillis: 0 }
