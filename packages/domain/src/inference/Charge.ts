/**
 * What a request is charged for, given how it ended and what reached the client (decision C11 of the gap list).
 *
 *   complete, usage reported      that usage; an explicit 0 is 0
 *   complete, none reported       local count of the prompt and of the answer
 *   cut after at least one delta  the prompt (reported, else counted) and the delivered output, as counted here, but no
 *                                 more than the supplier made
 *   nothing delivered             nothing, unless complete with usage: all of it was hidden
 *
 * What the supplier is known to have consumed is kept beside it: the difference is the operator's loss.
 */
import type { Charge, UsageSource } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { isZero, type PromptUsage, type ReportedUsage } from "./ReportedUsage.ts"

/** How a request ended, as seen from the client's socket. */
export type Ending =
  /** The supplier finished and every byte of it was handed to the client. */
  | "complete"
  /** The client left first. */
  | "client_gone"
  /** The supplier broke off, stalled or sent an error after the answer had begun. */
  | "upstream_cut"
  /** Nothing was answered: refused by us or by the supplier. */
  | "failed"
  /** The node died; settled by another one at the last checkpoint. */
  | "orphaned"

/** The facts a request leaves behind when it ends. */
export interface Outcome {
  readonly ending: Ending
  readonly reported: ReportedUsage
  /** Content deltas that were handed to the client; a whole answer is one. */
  readonly deltas: number
  /** How many content deltas there had been when the supplier last told an output. */
  readonly deltasAtLastOutputReport: number
}

/** Counts made here, evaluated only where no reported figure serves. */
export interface LocalCounts {
  readonly prompt: () => Tokens.Tokens
  readonly deliveredOutput: () => Tokens.Tokens
}

export const nothing: Charge = { charged: TokenUsage.none, consumed: TokenUsage.none, source: "none" }

/** Whether {@link chargeFor} will ask for a local count, so that the tokenizer is loaded only then. */
export const needsLocalCount = (outcome: Outcome): boolean =>
  isChargeable(outcome) &&
  (outcome.ending !== "complete" || outcome.reported.output === undefined || reportedPrompt(outcome) === undefined)

/** An answer that ended as it should counts even when all of it was hidden reasoning; the supplier says so. */
const isChargeable = ({ deltas, ending, reported }: Outcome): boolean =>
  deltas > 0 || (ending === "complete" && reported.output !== undefined)

/** What the supplier says of the prompt. Zeros before the end of a stream stand for a figure that never came. */
export const reportedPrompt = ({ ending, reported }: Outcome): PromptUsage | undefined =>
  ending !== "complete" && reported.prompt !== undefined && isZero(reported.prompt) ? undefined : reported.prompt

/**
 * How much the supplier made of a stream that was cut, as far as it said. A figure that was told before the last deltas
 * says nothing of them, unless it is so large that it must: a delta is a token at least. 0 stands for a figure that never
 * came.
 */
const reportedOutputOfCut = ({ deltas, deltasAtLastOutputReport, reported }: Outcome): Tokens.Tokens | undefined => {
  const { output } = reported
  if (output === undefined || output === 0n) return undefined
  return deltasAtLastOutputReport < deltas && output < BigInt(deltas) ? undefined : output
}

export const chargeFor = (outcome: Outcome, local: LocalCounts): Charge => {
  const { ending, reported } = outcome
  if (!isChargeable(outcome)) {
    return { ...nothing, consumed: asUsage(reported.prompt, reported.output ?? Tokens.zero) }
  }
  const known = reportedPrompt(outcome)
  const prompt = known ?? { ...TokenUsage.none, input: local.prompt() }
  if (ending === "complete") {
    const charged = asUsage(prompt, reported.output ?? local.deliveredOutput())
    return { charged, consumed: charged, source: sourceOf(reported) }
  }
  const counted = local.deliveredOutput()
  const made = reportedOutputOfCut(outcome)
  return {
    charged: asUsage(prompt, made === undefined ? counted : Tokens.min(counted, made)),
    consumed: asUsage(prompt, made ?? counted),
    source: known === undefined ? "local" : "mixed"
  }
}

const asUsage = (prompt: ReportedUsage["prompt"], output: Tokens.Tokens): TokenUsage.TokenUsage => ({
  input: prompt?.input ?? Tokens.zero,
  cacheWrite: prompt?.cacheWrite ?? Tokens.zero,
  cacheRead: prompt?.cacheRead ?? Tokens.zero,
  output
})

const sourceOf = ({ prompt, output }: ReportedUsage): UsageSource =>
  prompt !== undefined && output !== undefined ? "upstream" : prompt === output ? "local" : "mixed"
