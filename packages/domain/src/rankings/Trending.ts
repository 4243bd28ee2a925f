/**
 * Ranks models by the growth of their usage: the last seven days compared with the seven days before
 * (docs/reference/rankings.md#rank-9).
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import { byTokens, changeSince, isListed, named } from "./ModelUsage.ts"
import type { TrendingEntry } from "./Rankings.ts"
import type { ModelHistory } from "./UsageHistory.ts"

const MAX_TRENDING = 10
const MIN_TOKENS = 1_000_000n

/** The tokens of a model in the last seven days (`tokens`) and in the seven days before (`previousTokens`). */
export interface RecentUsage {
  readonly model: ModelHistory
  readonly tokens: Tokens
  readonly previousTokens: Tokens
}

/**
 * Returns the listed models with enough tokens that grew most: new models first, then by growth factor. Ties are
 * ordered by tokens, then by public name.
 */
export const trendingOf = (usages: ReadonlyArray<RecentUsage>): ReadonlyArray<TrendingEntry> =>
  usages
    .filter(({ model, tokens, previousTokens }) => isListed(model) && tokens >= MIN_TOKENS && tokens > previousTokens)
    .sort(byGrowth)
    .slice(0, MAX_TRENDING)
    .map(({ model, tokens, previousTokens }) => ({ ...named(model), tokens, ...changeSince(previousTokens, tokens) }))

/**
 * Compares growth factors as exact fractions. The factor of a new model has the denominator zero and is the largest.
 */
const byFactor: Order.Order<RecentUsage> = Order.make((a, b) => {
  const [left, right] = [a.tokens * b.previousTokens, b.tokens * a.previousTokens]
  return left > right ? -1 : left < right ? 1 : 0
})

const byGrowth: Order.Order<RecentUsage> = Order.combine(byFactor, byTokens)
