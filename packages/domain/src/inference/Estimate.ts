/**
 * What a request will use, guessed from the size of its body before anything is known.
 *
 * The floor decides whether it is refused, so it errs low (long runs of one character have eight bytes a token);
 * the ceiling and the output decide how much is set aside, so they err high, but are capped: coding agents send
 * enormous limits and must not lock a customer's whole balance.
 */
import type { Estimate } from "../ledger/Hold.ts"
import * as Tokens from "../money/Tokens.ts"

export interface RequestSize {
  /** Bytes of text in the body, embedded pictures and sounds left out. */
  readonly textBytes: number
  /** Pictures, sounds and files in the body, embedded or linked. */
  readonly attachments: number
  /** The caller's own limit on the answer, when given. */
  readonly maxOutputTokens: number | undefined
  /** How many answers are asked for (`n`). */
  readonly answers: number
}

const BYTES_PER_TOKEN_AT_MOST = 8
const BYTES_PER_TOKEN_AT_LEAST = 3
export const TOKENS_PER_ATTACHMENT = 1_600
const OUTPUT_WHEN_NOT_LIMITED = 1_024
const OUTPUT_AT_MOST = 8_192

export const estimate = (size: RequestSize): Estimate => {
  const output = Math.max(1, Math.min(size.maxOutputTokens ?? OUTPUT_WHEN_NOT_LIMITED, OUTPUT_AT_MOST))
  return {
    inputFloor: Tokens.fromCount(Math.floor(size.textBytes / BYTES_PER_TOKEN_AT_MOST)),
    inputCeiling: Tokens.fromCount(
      Math.ceil(size.textBytes / BYTES_PER_TOKEN_AT_LEAST) + size.attachments * TOKENS_PER_ATTACHMENT
    ),
    output: Tokens.fromCount(output * Math.max(1, size.answers))
  }
}
