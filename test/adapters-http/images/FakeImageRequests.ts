/**
 * Implements the store of image requests in memory. It records the requests that began, and the outcome of each
 * finished request.
 */
import { type FinishedImage, type ImageAdmission, ImageRequests } from "@tollgate/application/images/ImageRequests"
import type { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import type { ImageOutcome } from "@tollgate/domain/images/ImageOutcome"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Effect, Layer } from "effect"

export class FakeImageRequests {
  readonly begun: Array<ImageAdmission> = []
  readonly finished: Array<ImageOutcome & { readonly requestId: string }> = []
  /** The error with which the next requests are refused, or undefined to accept the requests. */
  refusal: IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | Overloaded | undefined
  /** True to simulate that the lease of a request has expired when the request is finished. */
  leaseLost = false
  /** Runs before a request is finished. */
  beforeFinishing: Effect.Effect<void> = Effect.void

  readonly layer: Layer.Layer<ImageRequests> = Layer.succeed(ImageRequests, {
    begin: (request) =>
      Effect.suspend(() => {
        if (this.refusal !== undefined) return Effect.fail(this.refusal)
        this.begun.push(request)
        return Effect.void
      }),
    finish: (finished) => Effect.zipRight(this.beforeFinishing, this.#finish(finished)),
    abandon: Effect.succeed(0),
    deleteOldKeys: Effect.succeed(0)
  })

  #finish({ admission: { requestId }, outcome }: FinishedImage): Effect.Effect<ImageOutcome | undefined> {
    return Effect.sync(() => {
      if (this.leaseLost) return undefined
      const written = outcome()
      this.finished.push({ ...written, requestId })
      return written
    })
  }
}
