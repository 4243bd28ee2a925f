/**
 * Defines errors that several features share.
 */
import * as Schema from "effect/Schema"

/** The caller exceeds a rate limit, or too many requests wait for the hashing of a password. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  retryAfterSeconds: Schema.Int
}) {}

/**
 * The reseller does not have this customer or key, or the server receives no webhooks from this payment provider. If
 * another reseller has the customer or key, the error is the same, so that it reveals nothing about other resellers.
 */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  what: Schema.Literal("customer", "key", "webhook")
}) {}

/** Converts a delay to whole seconds for `retry-after`: rounded up so that no retry is early, and at least 1. */
export const retryAfterSecondsOf = (delayMillis: number): number => Math.max(1, Math.ceil(delayMillis / 1_000))
