/**
 * Defines the table of the errors that only image requests have (docs/reference/errors.md#err-5). The error bodies have
 * the same form as the error bodies of the other inference routes (docs/reference/errors.md#a6).
 *
 * Official clients retry automatically after 408, 409, 429 and 5xx. The header `x-should-retry: false` prevents a retry
 * that would fail again or would make the provider generate and bill another image.
 */
import type { ImageRequestError } from "@tollgate/application/images/MakeImage"
import {
  bodyOf,
  errorBody,
  invalidRequest,
  type RelayError,
  serverError,
  type WireError,
  type WireErrorBody
} from "./InferenceErrors.ts"
import { retryAfter } from "./RetryAfter.ts"

/**
 * The errors with which an image request is refused or ends. An unexpected exception is reported as `InternalError`.
 */
export type ImageError = ImageRequestError | { readonly _tag: "InternalError" }

/** The errors that only image requests have. */
type ImagesOnly = Exclude<ImageError, RelayError>

const typed = (type: string) => ({ openai: type, anthropic: type })
const doNotRetry = (): Record<string, string> => ({ "x-should-retry": "false" })

const imageErrors: { readonly [Tag in ImagesOnly["_tag"]]: WireError<Extract<ImagesOnly, { readonly _tag: Tag }>> } = {
  UnsupportedParameter: {
    status: 400,
    code: "unsupported_parameter",
    type: invalidRequest,
    message: (error) => error.message,
    param: (error) => error.param
  },
  UnsupportedEndpoint: {
    status: 400,
    code: "unsupported_endpoint",
    type: invalidRequest,
    message: (error) => error.message,
    param: () => "model"
  },
  ContentPolicyViolation: {
    status: 400,
    code: "content_policy_violation",
    type: invalidRequest,
    message: (error) => error.message
  },
  ImageTimeout: {
    status: 408,
    code: "request_timeout",
    type: typed("timeout_error"),
    message: () => "The image was not ready within 120 seconds. Nothing was charged.",
    headers: doNotRetry
  },
  IdempotencyKeyReused: {
    status: 409,
    code: "idempotency_key_reused",
    type: typed("conflict_error"),
    message: () =>
      "This Idempotency-Key was already used. Images are not stored, so the response cannot be repeated. To generate a new image, send a new key.",
    headers: doNotRetry
  },
  ImageTooLarge: {
    status: 413,
    code: "image_too_large",
    type: invalidRequest,
    message: (error) => error.message,
    param: () => "image"
  },
  ImageConcurrencyLimit: {
    status: 429,
    code: "image_concurrency_limit",
    type: typed("rate_limit_error"),
    message: () => "Another image request of this customer is still running. Try again after that request has ended.",
    headers: retryAfter
  },
  ImageWithheld: {
    status: 502,
    code: "image_too_large_output",
    type: serverError,
    message: () =>
      "The generated image is larger than 20 MiB and was withheld. Nothing was charged. Request a smaller image.",
    headers: doNotRetry
  }
}

export const imageErrorBody = (error: ImageError, requestId: string): WireErrorBody =>
  isImagesOnly(error)
    ? bodyOf(imageErrors[error._tag] as WireError<ImagesOnly>, error, requestId, "openai")
    : errorBody(error, requestId, "openai")

const isImagesOnly = (error: ImageError): error is ImagesOnly => Object.hasOwn(imageErrors, error._tag)
