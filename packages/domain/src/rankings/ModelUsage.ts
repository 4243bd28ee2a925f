/**
 * The usage of one model in a window: its visibility, its rank order, and its change since the comparison period.
 *
 *     visible   not hidden: named in the leaderboard, the series and by its author, also when retired
 *     listed    visible and not retired: can be called, so it can trend and be fastest
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import { divideHalfUp, type ModelHistory } from "./UsageHistory.ts"

export interface ModelUsage {
  readonly model: ModelHistory
  readonly tokens: Tokens
  /** Tokens of the comparison period; null when nothing is compared. */
  readonly previousTokens: Tokens | null
}

/**
 * The usage compared with that of the preceding period of equal length (docs/reference/rankings.md#h3,
 * docs/reference/rankings.md#h6).
 */
export interface Change {
  /** Whole percent, rounded half away from zero; null when there is nothing to compare with. */
  readonly changePct: bigint | null
  /** The model has usage now and had none in the comparison period. */
  readonly isNew: boolean
}

/** The largest integer that every JSON reader reads exactly. */
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

/** Most tokens first; equals by public name, so that the order is the same on every node. */
export const byTokens: Order.Order<Used> = Order.combine(
  Order.reverse(Order.mapInput(Order.bigint, ({ tokens }: Used) => tokens)),
  byName
)

/** `previous` is null when nothing is compared. */
export const changeSince = (previous: Tokens | null, tokens: Tokens): Change => {
  if (previous === null) return { changePct: null, isNew: false }
  if (previous === 0n) return { changePct: null, isNew: tokens > 0n }
  const increased = tokens >= previous
  const difference = increased ? tokens - previous : previous - tokens
  const percent = divideHalfUp(difference * 100n, previous)
  const shown = percent < MAX_JSON_INTEGER ? percent : MAX_JSON_INTEGER
  return { changePct: increased ? shown : -shown, isNew: false }
}
