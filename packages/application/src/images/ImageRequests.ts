/**
 * The state of image requests and their charge. An account runs one image request at a time over all nodes; each
 * dispatched request is settled once.
 */
import type { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import type { ImageOutcome } from "@tollgate/domain/images/ImageOutcome"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Admission } from "../ledger/InferenceLedger.ts"

export interface ImageAdmission {
  readonly admission: Admission
  /** As the customer sent it: 1 to 255 visible ASCII characters. Only its digest is stored. */
  readonly idempotencyKey: string | undefined
}

export interface FinishedImage {
  readonly admission: Admission
  /**
   * Called when the transaction is built and before each retry, so that a client that disconnects while the database is
   * unreachable is not charged.
   */
  readonly outcome: () => ImageOutcome
  /** The time since acceptance in whole milliseconds. */
  readonly durationMillis: number
}

export class ImageRequests extends Context.Tag("@tollgate/application/ImageRequests")<
  ImageRequests,
  {
    /**
     * Starts a request, in one transaction, under a lease that expires if its node dies. Refuses a used idempotency key
     * (409), a second running request of the same account (429), and a balance below the cost of the smallest possible
     * usage (402).
     */
    readonly begin: (
      request: ImageAdmission
    ) => Effect.Effect<
      void,
      IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | InvalidApiKey | Overloaded
    >
    /**
     * Settles the request, releases the account and queues a review if the outcome needs one, in one transaction that
     * is retried until the database responds. Returns the written outcome. Returns undefined if the lease has expired
     * and the request was abandoned in the meantime: then nothing is charged, and nothing may be delivered.
     */
    readonly finish: (finished: FinishedImage) => Effect.Effect<ImageOutcome | undefined>
    /** Abandons requests with an expired lease: charges nothing and queues each for review. Returns their number. */
    readonly abandon: Effect.Effect<number>
    /** Deletes idempotency keys older than 90 days. Returns their number. */
    readonly forgetKeys: Effect.Effect<number>
  }
>() {}
