/**
 * Decides whether a request whose prompt was counted locally may be sent to a provider
 * (docs/reference/billing.md#i2).
 *
 * A stream delivers no output that its hold does not cover, so it needs only one output token. It needs this token
 * before it begins, because a stream that is cut before its first delta is not charged.
 *
 * A whole response is not cut. If its hold does not cover its counted prompt and its largest output, it can cost more
 * than the hold. At most one such response at a time may use up the balances.
 */
import {
  balancesCover,
  budgetCovers,
  covers,
  expectedUsage,
  type Hold,
  InsufficientBalance,
  type RequestDemand
} from "../ledger/Hold.ts"
import { KeyBudgetExceeded, shortageOf } from "../ledger/KeyHold.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { usageToBegin } from "./Estimate.ts"

export interface CountedPrompt extends RequestDemand {
  /** The number of prompt tokens that the gateway has counted for the hold. */
  readonly counted: Tokens.Tokens
}

const ONE = Tokens.Tokens(1n)

/** Returns the usage that the hold should cover: the estimate with the counted prompt. */
export const countedUsage = ({ counted, estimate, price }: CountedPrompt): TokenUsage.TokenUsage =>
  expectedUsage({ ...estimate, inputCeiling: counted }, price)

/**
 * Returns whether a hold should be extended to {@link countedUsage}. A hold that does not cover the estimate has set
 * aside the whole balance, so only its budget part can grow.
 */
export const isExtensionNeeded = (hold: Hold, prompt: CountedPrompt): boolean => {
  const { price, streamed } = prompt
  const usage = countedUsage(prompt)
  if (covers(hold, usage, price)) return false
  return hasBalanceLeft(hold, prompt) || (!streamed && !budgetCovers(hold, usage, price))
}

const hasBalanceLeft = (admitted: Hold, { estimate, price }: CountedPrompt): boolean =>
  balancesCover(admitted, expectedUsage(estimate, price), price)

/**
 * Returns why the request must not be sent to a provider; undefined if it may be sent. `admitted` is the hold before
 * the extension, and `hold` is the hold after it.
 */
export const promptShortage = (
  admitted: Hold,
  hold: Hold,
  prompt: CountedPrompt
): InsufficientBalance | KeyBudgetExceeded | undefined => {
  const { counted, estimate, price, streamed } = prompt
  const usage = countedUsage(prompt)
  if (streamed) return shortageOf(hold, usageToBegin(hold, counted, prompt), price)
  const shortage = shortageOf(hold, TokenUsage.plain(counted, Tokens.min(ONE, estimate.output)), price)
  if (shortage !== undefined) return shortage
  if (!budgetCovers(hold, usage, price)) return new KeyBudgetExceeded()
  if (balancesCover(hold, usage, price) || !hasBalanceLeft(admitted, prompt)) return undefined
  // The hold of a whole response grows in part only if it is the only hold (`extendHold`).
  const hasGrown = hold.planTokens > admitted.planTokens || hold.paygPico > admitted.paygPico
  return hasGrown ? undefined : new InsufficientBalance()
}
