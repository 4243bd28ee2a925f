/**
 * How an image request can be refused or fail, besides what every inference request can (spec: Errors, Images).
 */
import * as Schema from "effect/Schema"

/** A field outside the supported set, or a value of one that is not supported. */
export class UnsupportedParameter extends Schema.TaggedError<UnsupportedParameter>()("UnsupportedParameter", {
  message: Schema.String,
  param: Schema.String
}) {}

/** The model cannot do this: it makes no images, or it does not edit them. */
export class UnsupportedEndpoint extends Schema.TaggedError<UnsupportedEndpoint>()("UnsupportedEndpoint", {
  message: Schema.String
}) {}

/** The supplier declined the prompt or the source image. Nothing is charged. */
export class ContentPolicyViolation extends Schema.TaggedError<ContentPolicyViolation>()("ContentPolicyViolation", {
  message: Schema.String
}) {}

/** The source image, or the form that carries it, exceeds its limit in bytes or in pixels. */
export class ImageTooLarge extends Schema.TaggedError<ImageTooLarge>()("ImageTooLarge", {
  message: Schema.String
}) {}

/** The image was not ready in time. */
export class ImageTimeout extends Schema.TaggedError<ImageTimeout>()("ImageTimeout", {}) {}

/** This key was used for a request that was dispatched. Nothing is kept that could be answered again. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {}

/** Another image request of the account is still running, on whatever node. */
export class ImageConcurrencyLimit extends Schema.TaggedError<ImageConcurrencyLimit>()("ImageConcurrencyLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/** The supplier's image is too large to be passed on (gap G2). */
export class ImageWithheld extends Schema.TaggedError<ImageWithheld>()("ImageWithheld", {}) {}
