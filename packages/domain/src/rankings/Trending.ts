/**
 * Models that were used more in the last seven days than in the seven before, or not at all then (spec: trending).
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import { changeSince } from "./Change.ts"
import type { TrendingEntry } from "./Rankings.ts"
import { byTokens, isListed, named } from "./Standing.ts"
import type { ModelHistory } from "./UsageHistory.ts"

const MOST = 10
const FEWEST_TOKENS = 1_000_000n

/** A model's last seven days and the seven days before. */
export interface Momentum {
  readonly model: ModelHistory
  readonly tokens: Tokens
  readonly previousTokens: Tokens
}

/** New ones first, then those that grew by the largest factor; equals by tokens, then by public name. */
export const trendingOf = (momenta: ReadonlyArray<Momentum>): ReadonlyArray<TrendingEntry> =>
  momenta
    .filter(
      ({ model, tokens, previousTokens }) => isListed(model) && tokens >= FEWEST_TOKENS && tokens > previousTokens
    )
    .sort(byGrowth)
    .slice(0, MOST)
    .map(({ model, tokens, previousTokens }) => ({ ...named(model), tokens, ...changeSince(previousTokens, tokens) }))

/** Factors are compared as fractions, exactly; that of a new model has nothing below it and comes before all. */
const byFactor: Order.Order<Momentum> = Order.make((a, b) => {
  const [left, right] = [a.tokens * b.previousTokens, b.tokens * a.previousTokens]
  return left > right ? -1 : left < right ? 1 : 0
})

const byGrowth: Order.Order<Momentum> = Order.combine(byFactor, byTokens)
