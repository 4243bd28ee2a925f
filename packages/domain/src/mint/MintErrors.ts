/**
 * How a mint can be refused.
 */
import * as Schema from "effect/Schema"

/** The operation id was used for another customer or another tier. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/** The tier is unknown, not for sale, or of a model that cannot be called. */
export class TierNotAvailable extends Schema.TaggedError<TierNotAvailable>()("TierNotAvailable", {}) {}
