/**
 * Merges the usage that a provider reports in the events of a stream.
 *
 * An unreported token count is undefined. A reported 0 is 0. Providers repeat counts, report them in parts, or send
 * zeros until the last frame. Therefore a later report of the prompt, or of the output, replaces an earlier one, except
 * that zeros never replace a report above 0.
 */

import type { TokenUsage } from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { asCount } from "./Json.ts"

export type PromptUsage = Omit<TokenUsage, "output">

export interface ReportedUsage {
  readonly prompt: PromptUsage | undefined
  readonly output: Tokens.Tokens | undefined
}

export const unreported: ReportedUsage = { prompt: undefined, output: undefined }

export const merge = (earlier: ReportedUsage, later: ReportedUsage): ReportedUsage => ({
  prompt: later.prompt === undefined || (earlier.prompt && isZero(later.prompt)) ? earlier.prompt : later.prompt,
  output: later.output === undefined || (earlier.output && later.output === 0n) ? earlier.output : later.output
})

export const isZero = (prompt: PromptUsage): boolean => prompt.input + prompt.cacheWrite + prompt.cacheRead === 0n

/** The largest accepted token count. It is above the limits of all models: a larger count is wrong and is ignored. */
const MAX_COUNT = 10_000_000

/** Returns the token count in a member of a usage report; undefined if the member is not a count or is too large. */
export const countOf = (member: unknown): number | undefined => {
  const count = asCount(member)
  return count !== undefined && count <= MAX_COUNT ? count : undefined
}

/**
 * Returns the output tokens; undefined if the completion is unreported. If the total exceeds prompt plus completion,
 * the part of the excess that the provider reports as reasoning is added to the output. The rest of the excess is not
 * used, because nothing shows that the provider has generated it. If the prompt is unreported, the total is not used.
 */
export const outputWithin = (
  prompt: number | undefined,
  completion: number | undefined,
  total: number | undefined,
  reasoning: number | undefined
): Tokens.Tokens | undefined => {
  if (completion === undefined) return undefined
  const excess = prompt === undefined ? 0 : Math.max(0, (total ?? 0) - prompt - completion)
  return Tokens.fromCount(completion + Math.min(excess, reasoning ?? 0))
}

/**
 * Splits a prompt count into tokens read from a cache, tokens written to a cache, and other tokens. This function is
 * for providers such as OpenAI, whose prompt count includes the cached tokens. The three parts add up to the prompt
 * count.
 */
export const promptIncludingCached = (
  prompt: Tokens.Tokens,
  read: Tokens.Tokens,
  written: Tokens.Tokens = Tokens.zero
): PromptUsage => {
  const cacheRead = Tokens.min(prompt, read)
  const cacheWrite = Tokens.min(Tokens.Tokens(prompt - cacheRead), written)
  return { input: Tokens.Tokens(prompt - cacheRead - cacheWrite), cacheWrite, cacheRead }
}
