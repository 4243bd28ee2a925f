/**
 * How a reading of the rankings can be refused or fail. What each looks like on the wire is decided in one table of the
 * HTTP adapter.
 */
import * as Schema from "effect/Schema"

/** This installation publishes no rankings. */
export class RankingsDisabled extends Schema.TaggedError<RankingsDisabled>()("RankingsDisabled", {}) {}

/** There is no such window or modality. */
export class InvalidWindow extends Schema.TaggedError<InvalidWindow>()("InvalidWindow", {
  param: Schema.Literal("window", "modality"),
  allowed: Schema.Array(Schema.String)
}) {}

/** The history could not be read or told; the reason is for the log. */
export class RankingsUnavailable extends Schema.TaggedError<RankingsUnavailable>()("RankingsUnavailable", {
  reason: Schema.String
}) {}
