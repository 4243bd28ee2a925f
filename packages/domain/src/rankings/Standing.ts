/**
 * Where a model stands in a window, and what it may be shown as.
 *
 *     visible   not hidden: named in the leaderboard, the series and by its author, also when retired
 *     listed    visible and not retired: can be called, so it can trend and be fastest
 */
import * as Order from "effect/Order"
import type { Tokens } from "../money/Tokens.ts"
import type { ModelHistory } from "./UsageHistory.ts"

export interface Standing {
  readonly model: ModelHistory
  readonly tokens: Tokens
  /** Tokens of the comparison period; null when nothing is compared. */
  readonly previousTokens: Tokens | null
}

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
