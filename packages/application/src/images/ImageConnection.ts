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

/** Checks that a model supports the operation, before a file is read for it. */
export type ModelCheck = (model: string) => Either.Either<void, ModelNotFound | UnsupportedEndpoint>

export type ImageResult<Image> =
  /** The image, not decoded, and the usage that the provider reported, if any. */
  | { readonly _tag: "Completed"; readonly image: Image; readonly usage: ReportedUsage }
  /** The image is too large to be delivered; it was not read to its end. */
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Declined"; readonly error: ContentPolicyViolation }

/** The errors that the body of a request shows. */
export type ImageBodyRefusal =
  | InvalidRequest
  | UnsupportedParameter
  | UnsupportedEndpoint
  | ModelNotFound
  | ImageTooLarge
  | RequestTooLarge
  | Overloaded

export interface ImageConnection<Image> {
  readonly requestId: RequestId
  readonly operation: ImageOperation
  readonly presentedKey: Either.Either<Redacted.Redacted<string>, InvalidApiKey>
  /** The idempotency key, when one was sent. */
  readonly idempotencyKey: Either.Either<string | undefined, InvalidRequest>
  /** When the request was accepted, by the same clock as `nowMillis`. */
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
  /** Reads the body, up to its first error. */
  readonly readRequest: (checkModel: ModelCheck) => Effect.Effect<ImageRequest, ImageBodyRefusal>
  /** Tries one provider. An interruption aborts the exchange at once. */
  readonly attempt: (request: ImageRequest, candidate: Candidate) => Effect.Effect<ImageResult<Image>, FailedAttempt>
  /** The client has closed its connection. */
  readonly gone: () => boolean
}
