/**
 * A checkpoint of a running request: the number of delivered tokens, stored with the hold so that another node can settle the
 * request when this node dies.
 *
 * A checkpoint must not claim more than the client received. It is taken for thousands of streams at once, so it does not
 * tokenize. A delta has at least one token, and most tokens have at least four characters. The output is therefore the smaller
 * of the number of deltas and a quarter of the number of characters.
 */

import type { Charge } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"

export interface Checkpoint {
  readonly input: Tokens.Tokens
  readonly output: Tokens.Tokens
}

const CHARACTERS_PER_TOKEN = 4

/** Returns the checkpoint. It is zero before the first delta, because the prompt is charged only together with output. */
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

/** Returns the charge of a request whose node died. */
export const chargeAtCheckpoint = ({ input, output }: Checkpoint): Charge => {
  const usage = TokenUsage.plain(input, output)
  return { charged: usage, consumed: usage, source: output > 0n ? "checkpoint" : "none" }
}
