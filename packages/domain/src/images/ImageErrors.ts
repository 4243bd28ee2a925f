/**
 * Defines the errors that only image requests have (docs/reference/errors.md#err-5).
 */
import * as Schema from "effect/Schema"

/** The request has a field or a value that is not supported. */
export class UnsupportedParameter extends Schema.TaggedError<UnsupportedParameter>()("UnsupportedParameter", {
  message: Schema.String,
  param: Schema.String
}) {}

/**
 * The model cannot serve the request: it is not an image model, does not support the operation, or has no route for
 * images.
 */
export class UnsupportedEndpoint extends Schema.TaggedError<UnsupportedEndpoint>()("UnsupportedEndpoint", {
  message: Schema.String
}) {}

/** The provider refused the prompt or the source image. Nothing is charged. */
export class ContentPolicyViolation extends Schema.TaggedError<ContentPolicyViolation>()("ContentPolicyViolation", {
  message: Schema.String
}) {}

/** The source image has too many bytes or pixels, or the form that contains the image has too many bytes. */
export class ImageTooLarge extends Schema.TaggedError<ImageTooLarge>()("ImageTooLarge", {
  message: Schema.String
}) {}

/** The image was not ready before the request's timeout. */
export class ImageTimeout extends Schema.TaggedError<ImageTimeout>()("ImageTimeout", {}) {}

/**
 * An earlier request of this customer with the same idempotency key is running, or was sent to a provider. The response
 * of the earlier request is not stored, so it cannot be returned again.
 */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {}

/** The customer already has a running image request, on this node or on another node. */
export class ImageConcurrencyLimit extends Schema.TaggedError<ImageConcurrencyLimit>()("ImageConcurrencyLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/** The provider's image is too large to be delivered (docs/reference/images.md#g2). */
export class ImageWithheld extends Schema.TaggedError<ImageWithheld>()("ImageWithheld", {}) {}
