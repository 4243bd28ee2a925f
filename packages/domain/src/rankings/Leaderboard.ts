/**
 * Ranks the models with the most tokens in a window (docs/reference/rankings.md#h1), and computes the usage per bucket
 * (docs/reference/rankings.md#h2).
 */
import * as Tokens from "../money/Tokens.ts"
import { byTokens, changeSince, isListed, isVisible, type ModelUsage, named } from "./ModelUsage.ts"
import type { LeaderboardEntry, Point } from "./Rankings.ts"
import type { ModelHistory, TokensOver } from "./UsageHistory.ts"
import type { Bucket } from "./Window.ts"

const MAX_LEADERS = 50

/** The maximum number of models that the series shows separately. The tokens of all other models are in `other`. */
export const MAX_SERIES_KEYS = 8

/** Returns the models on the leaderboard, most tokens first. Omits hidden models and models without tokens. */
export const leadersOf = (usages: ReadonlyArray<ModelUsage>): ReadonlyArray<ModelUsage> =>
  usages
    .filter(({ model, tokens }) => isVisible(model) && tokens > 0n)
    .sort(byTokens)
    .slice(0, MAX_LEADERS)

export const leaderboardOf = (leaders: ReadonlyArray<ModelUsage>): ReadonlyArray<LeaderboardEntry> =>
  leaders.map(({ model, tokens, previousTokens }, i) => ({
    rank: i + 1,
    ...named(model),
    listed: isListed(model),
    tokens,
    previousTokens,
    ...changeSince(previousTokens, tokens)
  }))

/**
 * Returns the points of the series. Each point adds up to the usage of all models in its bucket, including hidden
 * models.
 */
export const pointsOf = (
  buckets: ReadonlyArray<Bucket>,
  keys: ReadonlyArray<ModelHistory>,
  all: ReadonlyArray<ModelHistory>,
  tokensOver: TokensOver
): ReadonlyArray<Point> =>
  buckets.map((bucket) => {
    const { start, partial } = bucket
    const values = keys.map((model) => tokensOver(bucket, model))
    const total = Tokens.sum(all.map((model) => tokensOver(bucket, model)))
    return { start, partial, values, other: Tokens.Tokens(total - Tokens.sum(values)) }
  })
