/**
 * Stores the state of image requests and settles them. A customer has at most one running image request over all nodes.
 * Each request that `begin` has started is settled once.
 */
import type { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import type { ImageOutcome } from "@tollgate/domain/images/ImageOutcome"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Admission, AdmissionRefusal } from "../ledger/InferenceLedger.ts"
import type { RouteTraffic } from "../ledger/Traffic.ts"

export interface ImageAdmission {
  readonly admission: Admission
  /** The key that the client sent: 1 to 255 visible ASCII characters. Only a digest of the key is stored. */
  readonly idempotencyKey: string | undefined
}

export interface FinishedImage {
  readonly admission: Admission
  /**
   * Returns how the request ended. It is called when the transaction is built, and again before each retry. An image is
   * therefore not charged if its client disconnects while the database is unreachable.
   */
  readonly outcome: () => ImageOutcome
  /** The time from the request's acceptance to its end, in whole milliseconds. */
  readonly durationMillis: number
  /** The counters of the route of the last attempt. */
  readonly route?: RouteTraffic | undefined
}

export class ImageRequests extends Context.Tag("@tollgate/application/ImageRequests")<
  ImageRequests,
  {
    /**
     * Starts a request, in one transaction. The request has a lease, which expires if this node dies. Fails if the
     * idempotency key was used (409), if the customer has another running request (429), or if the balances do not
     * cover the smallest possible usage (402). Also fails if a limit of the key refuses the request (402, 429), if the
     * API key is no longer valid (401), or if the node or the database is overloaded or unreachable (`Overloaded`).
     */
    readonly begin: (
      request: ImageAdmission
    ) => Effect.Effect<void, IdempotencyKeyReused | ImageConcurrencyLimit | AdmissionRefusal | Overloaded>
    /**
     * Settles the request and ends its lease, in one transaction that is retried until the database responds. Queues a
     * review if the outcome needs one. Returns the written outcome. Returns undefined if the lease has expired and the
     * request was abandoned, or if a sweep considered this node dead and settled the hold. Nothing is then charged, and
     * the image must not be delivered.
     */
    readonly finish: (finished: FinishedImage) => Effect.Effect<ImageOutcome | undefined>
    /**
     * Ends requests with an expired lease without a charge, queues a review for each, and returns the number of
     * requests.
     */
    readonly abandon: Effect.Effect<number>
    /** Deletes idempotency keys older than 90 days and returns the number of deleted keys. */
    readonly deleteOldKeys: Effect.Effect<number>
  }
>() {}
