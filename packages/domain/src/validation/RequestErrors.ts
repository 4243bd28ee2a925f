/**
 * Refusals that several features of the reseller surface share.
 */
import * as Schema from "effect/Schema"

/** Too often in too short a time. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  retryAfterSeconds: Schema.Int
}) {}

/** This reseller has no such customer or key (whether anybody else has is not told), or nobody has such a webhook. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  what: Schema.Literal("customer", "key", "webhook")
}) {}
