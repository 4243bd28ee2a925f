/**
 * The money and the state of image requests: one running request an account, over all nodes, and every dispatched one
 * settled once.
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
   * Asked when the transaction that writes it is put together, and again when that is retried, so that a client that
   * leaves while the database is away is not charged.
   */
  readonly outcome: () => ImageOutcome
  /** From acceptance, in whole milliseconds. */
  readonly durationMillis: number
}

export class ImageRequests extends Context.Tag("@tollgate/application/ImageRequests")<
  ImageRequests,
  {
    /**
     * One transaction: the idempotency key was used (409), another request of the account runs (429), the balance does
     * not cover the smallest use (402), or the request runs from now on, under a lease that outlives no crash.
     */
    readonly begin: (
      request: ImageAdmission
    ) => Effect.Effect<
      void,
      IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | InvalidApiKey | Overloaded
    >
    /**
     * Settles, frees the account and queues the review, in one transaction; tried until the database is back. What was
     * written; undefined when the lease has passed and the request was given up meanwhile: then nothing moves, and
     * nothing may be delivered.
     */
    readonly finish: (finished: FinishedImage) => Effect.Effect<ImageOutcome | undefined>
    /** Gives up requests whose lease has passed: nothing is charged, and each is queued for review. How many. */
    readonly abandon: Effect.Effect<number>
    /** Forgets idempotency keys after their 90 days. How many. */
    readonly forgetKeys: Effect.Effect<number>
  }
>() {}
