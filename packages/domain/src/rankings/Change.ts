/**
 * How usage compares with that of an equally long time before (gaps H3, H6).
 */
import type { Tokens } from "../money/Tokens.ts"

export interface Change {
  /** Whole percent, rounded half away from zero; null when there is nothing to compare with. */
  readonly changePct: bigint | null
  /** There is some usage now and was none before. */
  readonly isNew: boolean
}

/** The largest whole number that every reader of JSON takes for what it is. */
export const MOST_SHOWN = 9_007_199_254_740_991n

/** `previous` is null when nothing is compared. */
export const changeSince = (previous: Tokens | null, tokens: Tokens): Change => {
  if (previous === null) return { changePct: null, isNew: false }
  if (previous === 0n) return { changePct: null, isNew: tokens > 0n }
  const more = tokens >= previous
  const difference = more ? tokens - previous : previous - tokens
  const percent = (difference * 200n + previous) / (2n * previous)
  const shown = percent < MOST_SHOWN ? percent : MOST_SHOWN
  return { changePct: more ? shown : -shown, isNew: false }
}
