/**
 * A token usage is the number of tokens that a request used in each token class. Each class has a separate price.
 *
 * The classes are disjoint: `input` excludes tokens read from or written to a prompt cache, and `output` includes
 * reasoning. Each protocol's usage report is converted to this form when it is read.
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

/** Returns a usage without cached tokens. */
export const plain = (input: Tokens.Tokens, output: Tokens.Tokens): TokenUsage => ({ ...none, input, output })

/** Returns the sum of all four classes, which is shown as `total_tokens`. */
export const total = (usage: TokenUsage): Tokens.Tokens =>
  Tokens.Tokens(usage.input + usage.cacheWrite + usage.cacheRead + usage.output)

/** Returns the tokens that the rankings count: all classes except cache reads (docs/reference/rankings.md#rank-11). */
export const ranked = (usage: TokenUsage): Tokens.Tokens => Tokens.Tokens(usage.input + usage.cacheWrite + usage.output)
