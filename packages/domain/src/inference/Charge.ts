/**
 * The charge of a request, decided by its ending and by the content that reached the client
 * (docs/reference/billing.md#c11).
 *
 *   complete, usage reported      that usage; an explicit 0 is 0
 *   complete, none reported       local count of the prompt and of the output
 *   cut after at least one delta  the prompt (reported, else counted) and the local count of the delivered output, but no
 *                                 more than the provider generated
 *   nothing delivered             nothing, unless complete with usage: then all output was hidden reasoning
 *
 * The usage that the provider consumed is recorded beside the charge: the difference is the operator's loss.
 */
import type { Charge, UsageSource } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { isZero, type PromptUsage, type ReportedUsage } from "./ReportedUsage.ts"

/** How a request ended, as seen from the client's socket. */
export type Ending =
  /** The provider finished and every byte was delivered to the client. */
  | "complete"
  /** The client left first. */
  | "client_gone"
  /** The provider disconnected, stalled or sent an error after the response had begun. */
  | "upstream_cut"
  /** No response began: refused by the gateway or by the provider. */
  | "failed"
  /** The node died; another node settles the request at its last checkpoint. */
  | "orphaned"

/** The facts of an ended request that decide its charge. */
export interface Outcome {
  readonly ending: Ending
  readonly reported: ReportedUsage
  /** Content deltas delivered to the client; a response that is not streamed is one. */
  readonly deltas: number
  /** The number of content deltas sent when the provider last reported an output. */
  readonly deltasAtLastOutputReport: number
}

/** Local token counts, evaluated only when no reported figure can be used. */
export interface LocalCounts {
  readonly prompt: () => Tokens.Tokens
  readonly deliveredOutput: () => Tokens.Tokens
}

export const nothing: Charge = { charged: TokenUsage.none, consumed: TokenUsage.none, source: "none" }

/** Whether {@link chargeFor} evaluates a local count, so that the tokenizer is loaded only then. */
export const needsLocalCount = (outcome: Outcome): boolean =>
  isChargeable(outcome) &&
  (outcome.ending !== "complete" || outcome.reported.output === undefined || reportedPrompt(outcome) === undefined)

/** A complete response without deltas is charged when usage is reported: its output was hidden reasoning. */
const isChargeable = ({ deltas, ending, reported }: Outcome): boolean =>
  deltas > 0 || (ending === "complete" && reported.output !== undefined)

/** The reported prompt. In a stream that was cut, zeros are a placeholder for a figure that never arrived. */
export const reportedPrompt = ({ ending, reported }: Outcome): PromptUsage | undefined =>
  ending !== "complete" && reported.prompt !== undefined && isZero(reported.prompt) ? undefined : reported.prompt

/**
 * The output that the provider generated of a stream that was cut, when it is known. A figure reported before the last
 * deltas does not include them, unless it is at least the number of deltas: each delta has at least one token. 0 is a
 * placeholder for a figure that never arrived.
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
