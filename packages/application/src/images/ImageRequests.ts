/**
 * The charge and the state of image requests: an account runs one request at a time over all nodes, and every dispatched
 * request is settled once.
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
   * Called when its transaction is built, and again when that is retried, so that a client that disconnects while the
   * database is unreachable is not charged.
   */
  readonly outcome: () => ImageOutcome
  /** From acceptance, in whole milliseconds. */
  readonly durationMillis: number
}

export class ImageRequests extends Context.Tag("@tollgate/application/ImageRequests")<
  ImageRequests,
  {
    /**
     * One transaction. Refuses a used idempotency key (409), a second running request of the account (429), and a balance
     * that does not cover the least possible usage (402). Otherwise the request runs, under a lease that expires if its
     * node dies.
     */
    readonly begin: (
      request: ImageAdmission
    ) => Effect.Effect<
      void,
      IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | InvalidApiKey | Overloaded
    >
    /**
     * Settles the request, releases the account and queues the review, in one transaction; retried until the database
     * responds. Returns the outcome that was written. It is undefined when the lease has expired and the request was
     * abandoned in the meantime: then nothing is booked, and nothing may be delivered.
     */
    readonly finish: (finished: FinishedImage) => Effect.Effect<ImageOutcome | undefined>
    /** Abandons requests with an expired lease: nothing is charged, and each is queued for review. Returns their number. */
    readonly abandon: Effect.Effect<number>
    /** Deletes idempotency keys older than 90 days. Returns their number. */
    readonly forgetKeys: Effect.Effect<number>
  }
>() {}
