/**
 * The estimate of a request's usage from the size of its body, before anything is sent.
 *
 * The floor decides whether the request is refused, so it errs low (long runs of one character have eight bytes per token).
 * The ceiling and the output decide the hold, so they err high. They are capped: coding agents send very large limits, which
 * must not lock a customer's whole balance.
 */
import type { Estimate } from "../ledger/Hold.ts"
import * as Tokens from "../money/Tokens.ts"
import { TOKENS_PER_ATTACHMENT } from "./PromptText.ts"

export interface RequestSize {
  /** Bytes of text in the body, without embedded images and sounds. */
  readonly textBytes: number
  /** Tokens that the body contains as numbers, so that their count is exact. */
  readonly countedTokens?: number
  /** Images, sounds and files in the body, embedded or linked. */
  readonly attachments: number
  /** The caller's limit on the output, when given. */
  readonly maxOutputTokens: number | undefined
  /** The number of requested choices (`n`). */
  readonly choices: number
  /** The response contains no generated tokens: only the prompt is reserved. */
  readonly promptOnly?: true
}

const ONE = Tokens.Tokens(1n)
const MAX_BYTES_PER_TOKEN = 8
const MIN_BYTES_PER_TOKEN = 3
const DEFAULT_OUTPUT = 1_024
const MAX_HELD_OUTPUT = 8_192

/** The bounds of a prompt of this many bytes of text and tokens that are not text. */
export const estimatePrompt = (
  textBytes: number,
  otherTokens: number
): Pick<Estimate, "inputFloor" | "inputCeiling"> => ({
  inputFloor: Tokens.fromCount(Math.floor(textBytes / MAX_BYTES_PER_TOKEN)),
  inputCeiling: Tokens.fromCount(Math.ceil(textBytes / MIN_BYTES_PER_TOKEN) + otherTokens)
})

export const estimate = (size: RequestSize): Estimate => {
  const counted = Tokens.fromCount(size.countedTokens ?? 0)
  const prompt = estimatePrompt(size.textBytes, size.attachments * TOKENS_PER_ATTACHMENT.reserved)
  const inputFloor = Tokens.add(prompt.inputFloor, counted)
  const inputCeiling = Tokens.add(prompt.inputCeiling, counted)
  // A floor of 0 would admit a request without any balance.
  if (size.promptOnly) {
    const atLeastOne = (tokens: Tokens.Tokens) => (tokens < ONE ? ONE : tokens)
    return { inputFloor: atLeastOne(inputFloor), inputCeiling: atLeastOne(inputCeiling), output: Tokens.zero }
  }
  const output = Math.max(1, Math.min(size.maxOutputTokens ?? DEFAULT_OUTPUT, MAX_HELD_OUTPUT))
  return { inputFloor, inputCeiling, output: Tokens.fromCount(output * Math.max(1, size.choices)) }
}
