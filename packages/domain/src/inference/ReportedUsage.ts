/**
 * Usage as a supplier reports it, gathered over a stream.
 *
 * A member that was not reported is absent, which is not the same as 0. Suppliers repeat usage, report it in
 * parts, or send zeros until the last frame: later figures win unless they are 0 after a figure that was not.
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

/** More than any model reads or writes in one request. A figure beyond it is a mistake, and as good as none. */
const MOST_BELIEVABLE = 10_000_000

/** A figure of a usage, as it came off the wire; undefined where it says nothing. */
export const figureOf = (member: unknown): number | undefined => {
  const count = asCount(member)
  return count !== undefined && count <= MOST_BELIEVABLE ? count : undefined
}

/**
 * The output where a supplier may count its reasoning apart: what a total has beyond prompt and completion belongs to the
 * completion. A total says nothing without the prompt that is in it.
 */
export const outputWithin = (
  prompt: number | undefined,
  completion: number | undefined,
  total: number | undefined
): Tokens.Tokens | undefined =>
  completion === undefined
    ? undefined
    : Tokens.fromCount(Math.max(completion, prompt === undefined ? 0 : (total ?? 0) - prompt))

/**
 * A prompt of which a part was read from a cache, and another written to it, where the supplier counts those parts
 * inside the prompt (OpenAI's way). Parts larger than the prompt are cut to it.
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
