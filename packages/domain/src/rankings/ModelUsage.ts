/**
 * Defines the usage of one model in a window. Decides which models the rankings show and in which order, and computes
 * the change of their usage.
 *
 *     visible   The model is not hidden. The leaderboard and the series can name it, and the share of its
 *               author includes its tokens.
 *     listed    The model is visible and not retired. Only listed models are in `trending` and `fastest`.
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import { divideHalfUp, type ModelHistory } from "./UsageHistory.ts"

export interface ModelUsage {
  readonly model: ModelHistory
  readonly tokens: Tokens
  /** The tokens in the comparison period (the period before the window); null if the window has none. */
  readonly previousTokens: Tokens | null
}

/**
 * The change of usage, compared with the preceding period of equal length (docs/reference/rankings.md#h3,
 * docs/reference/rankings.md#h6).
 */
export interface Change {
  /**
   * The change in whole percent, rounded half away from zero; null if the comparison period is absent or has no usage.
   */
  readonly changePct: bigint | null
  /** True if the model has usage in the window and had no usage in the comparison period. */
  readonly isNew: boolean
}

/** 2^53 - 1: JavaScript parses every integer up to this one from JSON without rounding. */
export const MAX_JSON_INTEGER = 9_007_199_254_740_991n

export const isVisible = ({ hidden }: ModelHistory): boolean => !hidden
export const isListed = ({ hidden, retired }: ModelHistory): boolean => !hidden && !retired

export const named = ({ publicName, displayName, author }: ModelHistory) => ({ publicName, displayName, author })

interface Named {
  readonly model: ModelHistory
}
interface Used extends Named {
  readonly tokens: Tokens
}

export const byName: Order.Order<Named> = Order.mapInput(Order.string, ({ model }) => model.publicName)

/** Sorts by tokens, most first, then by public name, so that the order is the same on every node. */
export const byTokens: Order.Order<Used> = Order.combine(
  Order.reverse(Order.mapInput(Order.bigint, ({ tokens }: Used) => tokens)),
  byName
)

/** Returns the change from `previous` to `tokens`. `previous` is null when the window has no comparison period. */
export const changeSince = (previous: Tokens | null, tokens: Tokens): Change => {
  if (previous === null) return { changePct: null, isNew: false }
  if (previous === 0n) return { changePct: null, isNew: tokens > 0n }
  const increased = tokens >= previous
  const difference = increased ? tokens - previous : previous - tokens
  const percent = divideHalfUp(difference * 100n, previous)
  const shown = percent < MAX_JSON_INTEGER ? percent : MAX_JSON_INTEGER
  return { changePct: increased ? shown : -shown, isNew: false }
}
