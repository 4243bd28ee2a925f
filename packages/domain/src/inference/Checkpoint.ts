/**
 * A checkpoint estimates the prompt tokens and the delivered output tokens of a running request. It is stored with the
 * hold, so that another node can settle the request if this node dies.
 *
 * A checkpoint must not claim more than the client received. Thousands of streams get a checkpoint at the same time, so
 * the text is not tokenized. The output is the smaller of two estimates: one token for each delta, and one token for
 * every four characters.
 */

import type { Charge } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"

export interface Checkpoint {
  readonly input: Tokens.Tokens
  readonly output: Tokens.Tokens
}

const CHARACTERS_PER_TOKEN = 4

/**
 * Returns the checkpoint. It is zero before the first delta, because the prompt is charged only together with output.
 */
export const checkpoint = (delivered: {
  readonly deltas: number
  readonly characters: number
  readonly inputFloor: Tokens.Tokens
}): Checkpoint =>
  delivered.deltas === 0
    ? { input: Tokens.zero, output: Tokens.zero }
    : {
        input: delivered.inputFloor,
        output: Tokens.fromCount(
          Math.max(1, Math.min(delivered.deltas, Math.ceil(delivered.characters / CHARACTERS_PER_TOKEN)))
        )
      }

/** Returns the charge of a request whose node died. */
export const chargeAtCheckpoint = ({ input, output }: Checkpoint): Charge => {
  const usage = TokenUsage.plain(input, output)
  return { charged: usage, consumed: usage, source: output > 0n ? "checkpoint" : "none" }
}
