/**
 * Decides the charge of a request from its ending and the content that reached the client
 * (docs/reference/billing.md#c11).
 *
 *   complete, usage reported      the reported usage; a reported 0 is charged as 0
 *   complete, usage unreported    local count of the prompt and the output
 *   cut after at least one delta  the prompt (reported, otherwise counted locally) and the local count of the delivered
 *                                 output, but at most the reported output; a report that came before the last
 *                                 deltas counts only if it is not below the number of deltas
 *   no delta delivered            nothing; but a complete response with reported output is charged by the first two
 *                                 rows, because that output can be hidden reasoning
 *
 * The consumed tokens are recorded with the charge. The consumed tokens that are not charged are the operator loss.
 */
import type { Charge, UsageSource } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { isZero, type PromptUsage, type ReportedUsage } from "./ReportedUsage.ts"

/** How the response to a request ended. */
export type Ending =
  /** The provider finished. Every byte of a stream was delivered. A whole response is written afterwards. */
  | "complete"
  /** The client disconnected before the end, or the shutdown ended the request. */
  | "client_gone"
  /**
   * After the first delta, the provider disconnected, stalled or sent an error, or the gateway could not continue the
   * stream for a reason other than the balance.
   */
  | "upstream_cut"
  /**
   * The balances, or the budget of the key, were used up: the hold does not cover the next part of the stream, and it
   * cannot grow.
   */
  | "balance_exhausted"
  /** The request failed before the first delta. */
  | "failed"
  /** The node died, and a sweep settled the request at its last checkpoint. */
  | "orphaned"

/** The properties of an ended request that decide its charge. */
export interface Outcome {
  readonly ending: Ending
  readonly reported: ReportedUsage
  /**
   * The number of content deltas delivered to the client. A complete response that is not streamed counts as one delta.
   */
  readonly deltas: number
  /** The number of content deltas that were sent to the client when the provider last reported the output tokens. */
  readonly deltasAtLastOutputReport: number
  /**
   * An upper limit of the output tokens in the sent content, which the hold of a stream covers; undefined if the caller
   * keeps no such limit. Locally counted output above this limit is not charged.
   */
  readonly sentOutputLimit?: Tokens.Tokens | undefined
}

/**
 * The local token counts. `prompt` is called only if no reported prompt can be used. `deliveredOutput` is called only
 * if the response was cut or its output is unreported.
 */
export interface LocalCounts {
  readonly prompt: () => Tokens.Tokens
  readonly deliveredOutput: () => Tokens.Tokens
}

export const nothing: Charge = { charged: TokenUsage.none, consumed: TokenUsage.none, source: "none" }

/** Returns whether {@link chargeFor} uses a local count. If it does not, the caller need not load the tokenizer. */
export const needsLocalCount = (outcome: Outcome): boolean =>
  isChargeable(outcome) &&
  (outcome.ending !== "complete" || outcome.reported.output === undefined || reportedPrompt(outcome) === undefined)

/** Returns whether the request is charged. A complete response without deltas can report output: hidden reasoning. */
const isChargeable = ({ deltas, ending, reported }: Outcome): boolean =>
  deltas > 0 || (ending === "complete" && reported.output !== undefined)

/**
 * Returns the reported prompt usage. If the response is incomplete, all zeros mean that the prompt was not reported.
 */
export const reportedPrompt = ({ ending, reported }: Outcome): PromptUsage | undefined =>
  ending !== "complete" && reported.prompt !== undefined && isZero(reported.prompt) ? undefined : reported.prompt

/**
 * Returns the output tokens that the provider generated for a cut stream; undefined if they are unknown. The provider
 * may have reported this count before the last deltas. Such a count is used only if it is at least the number of
 * deltas, because each delta has at least one token. A count of 0 means that the output was not reported.
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
    const charged = asUsage(prompt, reported.output ?? limited(local.deliveredOutput(), outcome.sentOutputLimit))
    return { charged, consumed: charged, source: sourceOf(reported) }
  }
  const counted = limited(local.deliveredOutput(), outcome.sentOutputLimit)
  const generated = reportedOutputOfCut(outcome)
  return {
    charged: asUsage(prompt, generated === undefined ? counted : Tokens.min(counted, generated)),
    consumed: asUsage(prompt, generated ?? counted),
    source: known === undefined ? "local" : "mixed"
  }
}

const limited = (counted: Tokens.Tokens, limit: Tokens.Tokens | undefined): Tokens.Tokens =>
  limit === undefined ? counted : Tokens.min(counted, limit)

const asUsage = (prompt: ReportedUsage["prompt"], output: Tokens.Tokens): TokenUsage.TokenUsage => ({
  input: prompt?.input ?? Tokens.zero,
  cacheWrite: prompt?.cacheWrite ?? Tokens.zero,
  cacheRead: prompt?.cacheRead ?? Tokens.zero,
  output
})

const sourceOf = ({ prompt, output }: ReportedUsage): UsageSource =>
  prompt !== undefined && output !== undefined ? "upstream" : prompt === output ? "local" : "mixed"
