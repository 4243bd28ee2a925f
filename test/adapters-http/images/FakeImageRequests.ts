/**
 * A store of image requests in memory. It records the requests that began and those that finished.
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
  /** The error that refuses requests. If it is undefined, requests are accepted. */
  refusal: IdempotencyKeyReused | ImageConcurrencyLimit | InsufficientBalance | Overloaded | undefined
  /** If true, the lease of a request has expired when the request is finished. */
  leaseLost = false
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
