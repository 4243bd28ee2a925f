/**
 * Defines the public rankings document: the usage of each model in a window of time (docs/reference/rankings.md).
 *
 *     totals.tokens = leaderboard + other = all points of the series
 *
 * The tokens of hidden models are in `other`. The document never names a hidden model. The schema describes the stored
 * form of the document: dates and token counts are strings, so that no count is rounded.
 */
import * as Schema from "effect/Schema"
import { Tokens } from "../money/Tokens.ts"
import { CalendarUnit } from "./JakartaCalendar.ts"
import { Modality, Window } from "./Window.ts"

const TokenCount = Schema.BigInt.pipe(Schema.fromBrand(Tokens))
const Percent = Schema.BigInt
const named = { publicName: Schema.String, displayName: Schema.String, author: Schema.String }

export const LeaderboardEntry = Schema.Struct({
  rank: Schema.Int,
  ...named,
  /** True if the model is not retired. A retired model keeps its history. */
  listed: Schema.Boolean,
  tokens: TokenCount,
  /** The tokens in the comparison period; null for the window `all`, which has none. */
  previousTokens: Schema.NullOr(TokenCount),
  changePct: Schema.NullOr(Percent),
  isNew: Schema.Boolean
})
export type LeaderboardEntry = typeof LeaderboardEntry.Type

export const Point = Schema.Struct({
  /** The start of the whole bucket, which may be before the window. */
  start: Schema.Date,
  partial: Schema.Boolean,
  /** The tokens per model, in the order of `series.keys`. */
  values: Schema.Array(TokenCount),
  other: TokenCount
})
export type Point = typeof Point.Type

export const AuthorShare = Schema.Struct({ author: Schema.String, tokens: TokenCount, shareBp: Schema.BigInt })
export type AuthorShare = typeof AuthorShare.Type

export const TrendingEntry = Schema.Struct({
  ...named,
  tokens: TokenCount,
  changePct: Schema.NullOr(Percent),
  isNew: Schema.Boolean
})
export type TrendingEntry = typeof TrendingEntry.Type

export const SamplesBucket = Schema.Literal("200+", "1k+", "10k+")
export type SamplesBucket = typeof SamplesBucket.Type

export const FastestEntry = Schema.Struct({
  ...named,
  /** The median of output tokens per second, with at most one decimal. */
  tpsP50: Schema.Number,
  ttftP50Millis: Schema.Int,
  samplesBucket: SamplesBucket
})
export type FastestEntry = typeof FastestEntry.Type

export const Rankings = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  generatedAt: Schema.Date,
  window: Window,
  modality: Modality,
  range: Schema.Struct({
    from: Schema.Date,
    to: Schema.Date,
    previousFrom: Schema.NullOr(Schema.Date),
    /** The date in Jakarta of the first recorded usage, `YYYY-MM-DD`; null without usage. */
    dataSince: Schema.NullOr(Schema.String)
  }),
  totals: Schema.Struct({ tokens: TokenCount, previousTokens: Schema.NullOr(TokenCount) }),
  leaderboard: Schema.Array(LeaderboardEntry),
  other: Schema.Struct({ tokens: TokenCount }),
  series: Schema.Struct({ bucket: CalendarUnit, keys: Schema.Array(Schema.String), points: Schema.Array(Point) }),
  authors: Schema.Array(AuthorShare),
  trending: Schema.Array(TrendingEntry),
  fastest: Schema.Array(FastestEntry)
})
export type Rankings = typeof Rankings.Type
