/**
 * The usage of one model in a window, with the rules for visibility, sort order and change since the comparison period.
 *
 *     visible   not hidden: named in the leaderboard and series, and counted for its author, also when retired
 *     listed    visible and not retired: can appear in `trending` and `fastest`
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import { divideHalfUp, type ModelHistory } from "./UsageHistory.ts"

export interface ModelUsage {
  readonly model: ModelHistory
  readonly tokens: Tokens
  /** The tokens in the comparison period; null when the window has no comparison period. */
  readonly previousTokens: Tokens | null
}

/**
 * The change of usage since the preceding period of equal length (docs/reference/rankings.md#h3,
 * docs/reference/rankings.md#h6).
 */
export interface Change {
  /** The change in whole percent, rounded half away from zero; null without earlier usage or a comparison period. */
  readonly changePct: bigint | null
  /** Whether the model has usage now and had none in the comparison period. */
  readonly isNew: boolean
}

/** The largest integer that every JSON parser represents exactly, 2^53 - 1. */
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

/** Sorts by tokens, largest first, ties by public name, so that the order is the same on every node. */
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
