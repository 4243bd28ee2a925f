/**
 * A checkpoint of a running request: the tokens it has delivered, stored on its hold so that another node can settle it when
 * this node dies.
 *
 * A checkpoint must never claim more than the client received, and is taken for thousands of streams at once, so it does
 * not tokenize. A delta has at least one token, and a token is seldom shorter than four characters: the output is the smaller
 * of the two counts.
 */

import type { Charge } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"

export interface Checkpoint {
  readonly input: Tokens.Tokens
  readonly output: Tokens.Tokens
}

const CHARACTERS_PER_TOKEN = 4

/** Zero before the first delta: the prompt is charged only together with output. */
export const checkpoint = (delivered: {
  readonly deltas: number
  readonly characters: number
  readonly promptFloor: Tokens.Tokens
}): Checkpoint =>
  delivered.deltas === 0
    ? { input: Tokens.zero, output: Tokens.zero }
    : {
        input: delivered.promptFloor,
        output: Tokens.fromCount(
          Math.max(1, Math.min(delivered.deltas, Math.ceil(delivered.characters / CHARACTERS_PER_TOKEN)))
        )
      }

/** The charge of a request whose node died. */
export const chargeAtCheckpoint = ({ input, output }: Checkpoint): Charge => {
  const usage = TokenUsage.plain(input, output)
  return { charged: usage, consumed: usage, source: output > 0n ? "checkpoint" : "none" }
}
