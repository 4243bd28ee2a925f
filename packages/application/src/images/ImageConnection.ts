/**
 * Declares the interface between the use case `makeImage` and the HTTP adapter, for one image request.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { UserId } from "@tollgate/domain/customer/User"
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
import type { FailedAttempt, RouteError } from "../inference/RouteAttempts.ts"

/**
 * Checks that the API key may call a model and that the model supports the operation. An edit is checked as soon as the
 * model in the form has been read.
 */
export type ModelCheck = (model: string) => Either.Either<void, ModelNotFound | UnsupportedEndpoint>

export type ImageResult<Image> =
  /** The image as the provider encoded it, and the reported usage. */
  | { readonly _tag: "Completed"; readonly image: Image; readonly usage: ReportedUsage }
  /** The image is too large to be delivered. `usage` is absent if the response was too large to be read. */
  | { readonly _tag: "TooLarge"; readonly usage: ReportedUsage | undefined }
  | { readonly _tag: "Declined"; readonly error: ContentPolicyViolation }

/** The errors found while the request body is read. */
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
  /** The idempotency key; undefined if the client sent none. */
  readonly idempotencyKey: Either.Either<string | undefined, InvalidRequest>
  /** The time at which the request was accepted, on the clock of `nowMillis`. */
  readonly acceptedAtMillis: number
  readonly nowMillis: () => number
  /**
   * Reads the request body and fails with its first error. The memory of the request counts for the share of this
   * customer.
   */
  readonly readRequest: (customer: UserId, checkModel: ModelCheck) => Effect.Effect<ImageRequest, ImageBodyRefusal>
  /** Sends the request to one provider. An interruption of the effect aborts the HTTP exchange immediately. */
  readonly attempt: (
    request: ImageRequest,
    candidate: Candidate
  ) => Effect.Effect<ImageResult<Image>, FailedAttempt<RouteError>>
  /** Returns true if the client has closed its connection. */
  readonly gone: () => boolean
}
