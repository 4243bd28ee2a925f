/**
 * Refusals that several features of the reseller surface share.
 */
import * as Schema from "effect/Schema"

/** Too many requests in too short a time. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  retryAfterSeconds: Schema.Int
}) {}

/**
 * This reseller has no such customer or key, or the server has no such webhook. The refusal is the same when another
 * reseller has it, so that it does not reveal other resellers' data.
 */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  what: Schema.Literal("customer", "key", "webhook")
}) {}

/** A delay as `retry-after` carries it: whole seconds, rounded up so that no retry is early, and at least one. */
export const retryAfterSecondsOf = (delayMillis: number): number => Math.max(1, Math.ceil(delayMillis / 1_000))
