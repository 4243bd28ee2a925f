/**
 * The transactions of image requests: one that begins, one that ends, and those that are given up.
 *
 * Rows are locked in the order image request, hold, accounts. The rules that decide are the domain's.
 */
import type { FinishedImage, ImageAdmission } from "@tollgate/application/images/ImageRequests"
import type { Measured } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import { type ImageOutcome, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { decideHold, type InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import type { Ask, Decided, Statement } from "../ledger/DedicatedConnection.ts"
import { insertHolds, lockedHold, lockHolds, lockingHolds, readPrices, validKeys } from "../ledger/HoldRows.ts"
import { ownerOf } from "../ledger/LedgerWork.ts"
import { lockAccounts } from "../ledger/LockedRows.ts"
import { type NewSettlement, settleHold, settleHolds } from "../ledger/SettlementRows.ts"
import { inOneStatement } from "../ledger/WriteStatement.ts"
import { beginImage, endImages, lockExpired, lockStanding, lockState } from "./ImageRows.ts"

export type BeginRefusal = IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | InvalidApiKey

/**
 * `gave up`: a request of the account whose lease had passed was in the way and is so no more; ask again. `gone`: an
 * earlier attempt at this one has begun it, and it has ended since.
 */
export type Begun = Either.Either<"begun" | "gave up" | "gone", BeginRefusal>

/** How long a client should leave an account alone that is making an image. */
const RETRY_AFTER_SECONDS = 5

const BEGUN: Begun = Either.right("begun")
const GAVE_UP: Begun = Either.right("gave up")
const GONE: Begun = Either.right("gone")

export const begin = async (
  ask: Ask,
  image: ImageAdmission,
  nodeId: NodeId,
  leaseSeconds: number
): Promise<Decided<Begun>> => {
  const { admission } = image
  const standing = await lockStanding(ask, image)
  const itself = standing.find(({ requestId }) => requestId === admission.requestId)
  if (itself !== undefined) return decided(itself.running ? BEGUN : GONE)
  if (standing.some(({ sameKey }) => sameKey)) return refused(new IdempotencyKeyReused())
  const running = standing.find(({ running }) => running)
  if (running?.leaseAlive) return refused(new ImageConcurrencyLimit({ retryAfterSeconds: RETRY_AFTER_SECONDS }))
  if (running !== undefined) return { ...(await giveUp(ask, [running.requestId])), result: GAVE_UP }

  const owner = ownerOf(admission)
  const [keys, accounts] = await Promise.all([ask(READ_KEY, [[admission.principal.keyId]]), lockAccounts(ask, [owner])])
  if (keys.length === 0) return refused(new InvalidApiKey({ reason: "unknown" }))
  const hold = decideHold(admission.estimate, admission.price, accounts.of(owner))
  if (Either.isLeft(hold)) return refused(hold.left)
  const held = hold.right
  accounts.keep(owner, held)
  return {
    result: BEGUN,
    write: inOneStatement([
      beginImage(image, leaseSeconds),
      ...accounts.changes,
      insertHolds(nodeId, [{ admission, held }])
    ])
  }
}

const decided = (result: Begun): Decided<Begun> => ({ result, write: undefined })
const refused = (refusal: BeginRefusal): Decided<Begun> => decided(Either.left(refusal))

const READ_KEY: Statement = { name: "valid_image_key", text: validKeys("$1") }

/**
 * Undefined where the request was given up before. `perhaps` is what an attempt came to whose commit nobody knows the
 * outcome of.
 */
export const finish = async (
  ask: Ask,
  { admission, durationMillis, outcome }: FinishedImage,
  maybeCommitted: ImageOutcome | undefined
): Promise<Decided<ImageOutcome | undefined>> => {
  const { price, requestId } = admission
  const state = await lockState(ask, requestId)
  if (state !== "running")
    return { result: state === maybeCommitted?.state ? maybeCommitted : undefined, write: undefined }
  const owner = ownerOf(admission)
  const [holds, accounts] = await Promise.all([lockHolds(ask, [requestId]), lockAccounts(ask, [owner])])
  const hold = holds.get(requestId)
  // Its node was taken for dead, so it has been settled with nothing.
  if (hold === undefined) return { result: undefined, write: inOneStatement([endImages([givenUp(requestId)])]) }
  const result = outcome()
  const { charge, dispatched, ending } = result
  const measured: Measured = { ending, charge, ttftMillis: undefined, durationMillis }
  const settlement = settleHold({ requestId, owner, hold }, measured, price, accounts)
  return {
    result,
    write: inOneStatement([
      endImages([{ requestId, state: result.state, dispatched }]),
      settleHolds([settlement]),
      ...accounts.changes
    ])
  }
}

/** Requests whose lease has passed, as many as are taken at once; `locked` is told which. */
export const abandon = async (
  ask: Ask,
  passedOver: ReadonlyArray<RequestId>,
  atMost: number,
  locked: (requestIds: ReadonlyArray<RequestId>) => void
): Promise<Decided<number>> => {
  const requestIds = await lockExpired(ask, passedOver, atMost)
  locked(requestIds)
  return requestIds.length === 0 ? { result: 0, write: undefined } : giveUp(ask, requestIds)
}

/** Of requests that are locked. Those of dead nodes may have been settled before, with nothing as well. */
const giveUp = async (ask: Ask, requestIds: ReadonlyArray<RequestId>): Promise<Decided<number>> => {
  const holds = (await ask(LOCK_HOLDS, [requestIds])).map(lockedHold)
  const ends = endImages(requestIds.map(givenUp))
  if (holds.length === 0) return { result: requestIds.length, write: inOneStatement([ends]) }
  const [prices, accounts] = await Promise.all([
    readPrices(
      ask,
      holds.map(({ priceId }) => priceId)
    ),
    lockAccounts(ask, holds)
  ])
  const settlements = holds.map(
    ({ hold, modelId, priceId, requestId, userId }): NewSettlement =>
      settleHold({ requestId, owner: { userId, modelId }, hold }, NOTHING, prices(priceId), accounts)
  )
  return {
    result: requestIds.length,
    write: inOneStatement([ends, settleHolds(settlements), ...accounts.changes])
  }
}

const LOCK_HOLDS = lockingHolds(
  "lock_image_holds",
  "WHERE request_id = ANY ($1::uuid[]) ORDER BY request_id FOR UPDATE"
)

const LEFT: ImageOutcome = outcomeOf({ _tag: "Left", usage: undefined }, true)
const givenUp = (requestId: RequestId) => ({ requestId, state: LEFT.state, dispatched: LEFT.dispatched })

/** When its node died nobody knows, so neither how long it took. */
const NOTHING: Measured = { ending: "failed", charge: LEFT.charge, ttftMillis: undefined, durationMillis: 0 }
