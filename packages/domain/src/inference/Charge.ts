/**
 * Decides the charge of a request from its ending and the content that reached the client
 * (docs/reference/billing.md#c11).
 *
 *   complete, usage reported      the reported usage; a reported 0 is charged as 0
 *   complete, usage unreported    local count of the prompt and the output
 *   cut after at least one delta  the prompt (reported, otherwise counted locally) and the local count of the delivered output,
 *                                 at most the output that the provider generated
 *   nothing delivered             nothing, unless complete with reported output: that output was hidden reasoning
 *
 * The usage that the provider consumed is recorded beside the charge: the operator bears the difference.
 */
import type { Charge, UsageSource } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { isZero, type PromptUsage, type ReportedUsage } from "./ReportedUsage.ts"

/** How the response to a request ended. */
export type Ending =
  /** The provider finished, and every byte was delivered to the client. */
  | "complete"
  /** The client disconnected before the end. */
  | "client_gone"
  /** The provider disconnected, stalled or sent an error after the response had begun. */
  | "upstream_cut"
  /** No response began: refused by the gateway or by the provider. */
  | "failed"
  /** The node died. Another node settles the request at its last checkpoint. */
  | "orphaned"

/** The properties of an ended request that decide its charge. */
export interface Outcome {
  readonly ending: Ending
  readonly reported: ReportedUsage
  /** The number of content deltas delivered to the client; a response that is not streamed counts as one. */
  readonly deltas: number
  /** The number of content deltas sent when the provider last reported output usage. */
  readonly deltasAtLastOutputReport: number
}

/** The local token counts. Each is evaluated only when no reported figure can be used. */
export interface LocalCounts {
  readonly prompt: () => Tokens.Tokens
  readonly deliveredOutput: () => Tokens.Tokens
}

export const nothing: Charge = { charged: TokenUsage.none, consumed: TokenUsage.none, source: "none" }

/** Returns whether {@link chargeFor} evaluates a local count, so that the caller loads the tokenizer only when needed. */
export const needsLocalCount = (outcome: Outcome): boolean =>
  isChargeable(outcome) &&
  (outcome.ending !== "complete" || outcome.reported.output === undefined || reportedPrompt(outcome) === undefined)

/** A complete response without deltas is charged when output was reported: that output was hidden reasoning. */
const isChargeable = ({ deltas, ending, reported }: Outcome): boolean =>
  deltas > 0 || (ending === "complete" && reported.output !== undefined)

/** Returns the reported prompt usage. In a cut stream, all zeros are a placeholder for figures that never arrived. */
export const reportedPrompt = ({ ending, reported }: Outcome): PromptUsage | undefined =>
  ending !== "complete" && reported.prompt !== undefined && isZero(reported.prompt) ? undefined : reported.prompt

/**
 * Returns the output tokens that the provider generated for a cut stream; undefined when unknown. A figure reported before
 * the last deltas does not include these deltas, so it is used only if it is at least the number of deltas, because each
 * delta has at least one token. 0 is a placeholder for a figure that never arrived.
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
  const generated = reportedOutputOfCut(outcome)
  return {
    charged: asUsage(prompt, generated === undefined ? counted : Tokens.min(counted, generated)),
    consumed: asUsage(prompt, generated ?? counted),
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
