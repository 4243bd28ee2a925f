/**
 * How many tokens a request used, in the four classes that have a price of their own.
 *
 * The classes are disjoint: `input` is what was neither read from nor written to a prompt cache, and `output`
 * includes reasoning. Each protocol is brought to this form where it enters.
 */
import * as Tokens from "../money/Tokens.ts"

export interface TokenUsage {
  readonly input: Tokens.Tokens
  readonly cacheWrite: Tokens.Tokens
  readonly cacheRead: Tokens.Tokens
  readonly output: Tokens.Tokens
}

export const none: TokenUsage = {
  input: Tokens.zero,
  cacheWrite: Tokens.zero,
  cacheRead: Tokens.zero,
  output: Tokens.zero
}

export const plain = (input: Tokens.Tokens, output: Tokens.Tokens): TokenUsage => ({ ...none, input, output })

/** All four classes: what a plan is debited and `total_tokens` shows. */
export const total = (usage: TokenUsage): Tokens.Tokens =>
  Tokens.Tokens(usage.input + usage.cacheWrite + usage.cacheRead + usage.output)

/** What the rankings count: cache reads are left out (docs/reference/rankings.md#rank-11). */
export const ranked = (usage: TokenUsage): Tokens.Tokens => Tokens.Tokens(usage.input + usage.cacheWrite + usage.output)
