/**
 * The client's half of an image request, and what a supplier's answer to it comes to. Spoken over HTTP by an adapter.
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
  /** The picture, not decoded, and what the supplier says it used: nothing, where it does not say. */
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
  /** Asks one supplier. Interrupting it aborts the supplier at once. `retryElsewhere` says whether another may be asked. */
  readonly ask: (request: ImageRequest, candidate: Candidate) => Effect.Effect<ImageAnswer<Picture>, FailedAttempt>
  /** The client has closed its connection. */
  readonly gone: () => boolean
}
