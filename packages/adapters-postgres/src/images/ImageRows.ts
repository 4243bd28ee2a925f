/**
 * Builds and runs the statements for image request rows. A row is inserted when a request begins, and is updated when
 * the request ends. If the request was sent to a provider, another statement deletes the digest of its idempotency key
 * later.
 *
 * A transaction locks image requests before holds and accounts. Transactions that begin requests of the same user run
 * one after the other, so each transaction reads the rows that the previous transaction wrote.
 */
import { createHash } from "node:crypto"
import type { ImageAdmission } from "@tollgate/application/images/ImageRequests"
import { type EndState, type ImageState, reviewOf } from "@tollgate/domain/images/ImageOutcome"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { columnsOf } from "../client/SqlValues.ts"
import type { Query, Statement } from "../ledger/DedicatedConnection.ts"
import type { Part, WriteStatement } from "../ledger/WriteStatement.ts"

/**
 * A row that affects a new request of a user: the request itself, a running request, or a request with the same
 * idempotency key.
 */
export interface RelatedImage {
  readonly requestId: RequestId
  readonly running: boolean
  readonly leaseAlive: boolean
  readonly sameKey: boolean
}

/** Returns the stored form of an idempotency key, its SHA-256 digest; null when the request has no key. */
const digestOf = (idempotencyKey: string | undefined): Buffer | null =>
  idempotencyKey === undefined ? null : createHash("sha256").update(idempotencyKey).digest()

/** Waits for other transactions that begin a request of this user, then locks the related rows. */
export const lockRelated = async (
  query: Query,
  { admission: { principal, requestId }, idempotencyKey }: ImageAdmission
): Promise<ReadonlyArray<RelatedImage>> => {
  const [, rows] = await Promise.all([
    query(SERIALISE, [principal.userId]),
    query(LOCK_RELATED, [requestId, principal.userId, digestOf(idempotencyKey)])
  ])
  return rows.map((row) => {
    const [id, running, leaseAlive, sameKey] = row as RelatedRow
    return { requestId: RequestId(id), running, leaseAlive, sameKey }
  })
}

type RelatedRow = readonly [requestId: string, running: boolean, leaseAlive: boolean, sameKey: boolean]

/** The first number of the advisory lock is arbitrary, but must be the same in every version of the server. */
const SERIALISE: Statement = {
  name: "serialise_images",
  text: "SELECT pg_advisory_xact_lock(843620177, hashtext($1::text))"
}

const LOCK_RELATED: Statement = {
  name: "lock_related_images",
  text: `
    SELECT request_id, state = 'running', lease_until > clock_timestamp(), coalesce(key_digest = $3::bytea, false)
    FROM image_request
    WHERE request_id = $1::uuid OR (user_id = $2::uuid AND state = 'running')
      OR (user_id = $2::uuid AND key_digest = $3::bytea)
    FOR UPDATE`
}

/** Locks a request and returns its state; undefined when there is no such request. */
export const lockState = async (query: Query, requestId: RequestId): Promise<ImageState | undefined> => {
  const [row] = await query(LOCK_STATE, [requestId])
  return row?.[0] as ImageState | undefined
}

const LOCK_STATE: Statement = {
  name: "lock_image",
  text: "SELECT state FROM image_request WHERE request_id = $1::uuid FOR UPDATE"
}

/**
 * Locks requests with an expired lease, except the excluded requests and the requests that another session has locked.
 */
export const lockExpired = async (
  query: Query,
  excluded: ReadonlyArray<RequestId>,
  batchSize: number
): Promise<ReadonlyArray<RequestId>> =>
  (await query(LOCK_EXPIRED, [excluded, batchSize])).map(([requestId]) => RequestId(requestId as string))

const LOCK_EXPIRED: Statement = {
  name: "lock_expired_images",
  text: `
    SELECT request_id FROM image_request
    WHERE state = 'running' AND lease_until <= clock_timestamp() AND request_id <> ALL ($1::uuid[])
    ORDER BY request_id LIMIT $2 FOR UPDATE SKIP LOCKED`
}

const BEGIN: Part = {
  name: "image_begins",
  writes: (first) => `
    image_begun AS (
      INSERT INTO image_request (request_id, user_id, key_digest, lease_until)
      VALUES ($${first}::uuid, $${first + 1}::uuid, $${first + 2}::bytea,
        clock_timestamp() + make_interval(secs => $${first + 3}::double precision))
      RETURNING 1)`,
  precondition: () => "(SELECT count(*) FROM image_begun) = 1"
}

export const beginImage = (
  { admission: { principal, requestId }, idempotencyKey }: ImageAdmission,
  leaseSeconds: number
): WriteStatement => ({ part: BEGIN, values: [requestId, principal.userId, digestOf(idempotencyKey), leaseSeconds] })

export interface EndedImage {
  readonly requestId: RequestId
  readonly state: EndState
  readonly dispatched: boolean
}

const ENDED = columnsOf<EndedImage>({
  request_id: ["uuid", ({ requestId }) => requestId],
  state: ["text", ({ state }) => state],
  reason: ["text", ({ state }) => reviewOf(state)],
  dispatched: ["boolean", ({ dispatched }) => dispatched]
})

const END: Part = {
  name: "image_ends",
  writes: (first) => `
    image_end AS (
      SELECT * FROM ${ENDED.unnested(first)} AS image_end (${ENDED.names})
    ), image_ended AS (
      UPDATE image_request AS request
      SET state = image_end.state, finished_at = greatest(request.started_at, clock_timestamp()),
        key_digest = CASE WHEN image_end.dispatched THEN request.key_digest END
      FROM image_end WHERE request.request_id = image_end.request_id AND request.state = 'running'
      RETURNING request.request_id
    ), image_queued AS (
      INSERT INTO image_review (request_id, reason)
      SELECT request_id, reason FROM image_end JOIN image_ended USING (request_id) WHERE reason IS NOT NULL)`,
  precondition: (first) => `(SELECT count(*) FROM image_ended) = cardinality($${first}::uuid[])`
}

/**
 * Returns the statement that ends running requests and inserts their reviews. The statement writes nothing when one of
 * the requests has already ended.
 */
export const endImages = (images: ReadonlyArray<EndedImage>): WriteStatement => ({
  part: END,
  values: ENDED.arrays(images)
})
