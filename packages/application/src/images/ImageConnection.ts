/**
 * The HTTP side of an image request, as the use case sees it, and the results of an attempt at one provider.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type {
  ContentPolicyViolation,
  ImageTooLarge,
  UnsupportedEndpoint,
  UnsupportedParameter
} from "@tollgate/domain/images/ImageErrors"
import type { ImageOperation, ImageRequest } from "@tollgate/domain/images/ImageRequest"
import type {
  InvalidApiKey,
  InvalidRequest,
  ModelNotFound,
  Overloaded,
  RequestTooLarge
} from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import type { FailedAttempt } from "../inference/RouteAttempts.ts"

/** Whether a model can do what is asked, before a file is read for it. */
export type Capable = (model: string) => Either.Either<void, ModelNotFound | UnsupportedEndpoint>

export type ImageAnswer<Picture> =
  /** The picture, not decoded, and the usage that the provider reported, if any. */
  | { readonly _tag: "Pictured"; readonly picture: Picture; readonly usage: ReportedUsage }
  /** A picture too large to be passed on; it was not read to its end. */
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Declined"; readonly error: ContentPolicyViolation }

/** What can be said against a request from its body alone. */
export type ImageBodyRefusal =
  | InvalidRequest
  | UnsupportedParameter
  | UnsupportedEndpoint
  | ModelNotFound
  | ImageTooLarge
  | RequestTooLarge
  | Overloaded

export interface ImageConnection<Picture> {
  readonly requestId: RequestId
  readonly operation: ImageOperation
  readonly presentedKey: Either.Either<Redacted.Redacted<string>, InvalidApiKey>
  /** The idempotency key, when one was sent. */
  readonly idempotencyKey: Either.Either<string | undefined, InvalidRequest>
  /** When the request was accepted, by the same clock as `nowMillis`. */
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
  /** Reads the body, no further than to the first thing that is wrong with it. */
  readonly takeRequest: (capable: Capable) => Effect.Effect<ImageRequest, ImageBodyRefusal>
  /** Asks one provider. Interrupting it aborts the exchange at once. `retryElsewhere` allows another provider. */
  readonly ask: (request: ImageRequest, candidate: Candidate) => Effect.Effect<ImageAnswer<Picture>, FailedAttempt>
  /** The client has closed its connection. */
  readonly gone: () => boolean
}
