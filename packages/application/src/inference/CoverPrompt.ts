/**
 * Ensures that the hold of an admitted request covers its prompt before the request is sent to a provider.
 *
 * A hold sets aside one token for each byte of the prompt if the balances are large. A smaller hold assumes ordinary
 * text, so the prompt is counted, and the hold is extended if the count exceeds the estimate. Otherwise concurrent
 * requests with many tokens for each byte could together cost more than the balances (docs/reference/billing.md#i2).
 */
import { isPromptCovered, usageToBegin } from "@tollgate/domain/inference/Estimate"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { balancesCover, covers, expectedUsage, type Hold, type InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { type KeyBudgetExceeded, shortageOf } from "@tollgate/domain/ledger/KeyHold"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Exit from "effect/Exit"
import type { Admission, Callback } from "../ledger/InferenceLedger.ts"
import type { InferenceRequest } from "./RelayConnection.ts"
import type { AllowancePorts } from "./StreamAllowance.ts"
import { localPromptCount } from "./TokenCounter.ts"

export interface CoveredPrompt {
  readonly hold: Hold
  /** The local count of the prompt; undefined if the prompt was not counted. */
  readonly counted: Tokens.Tokens | undefined
}

export type PromptShortage = InsufficientBalance | KeyBudgetExceeded | Overloaded

const ONE = Tokens.Tokens(1n)

/**
 * Calls back with the hold, which may have been extended. Fails if the balances, or a budget of the key, do not cover
 * the counted prompt and one output token, and if the ledger cannot decide the extension.
 */
export const coverPrompt = (
  hold: Hold,
  admission: Admission,
  request: InferenceRequest,
  { counter, ledger, run }: AllowancePorts,
  callback: Callback<CoveredPrompt, PromptShortage>
): void => {
  const { estimate, price, streamed } = admission
  if (isPromptCovered(hold, admission)) {
    callback(Exit.succeed({ hold, counted: undefined }))
    return
  }
  run(localPromptCount(request, counter), (counting) => {
    const counted = Exit.isSuccess(counting) ? counting.value : estimate.inputFloor
    const usage = expectedUsage({ ...estimate, inputCeiling: counted }, price)
    const decide = (current: Hold) => {
      const least = TokenUsage.plain(counted, Tokens.min(ONE, estimate.output))
      const shortage = shortageOf(current, streamed ? usageToBegin(current, counted, admission) : least, price)
      callback(shortage === undefined ? Exit.succeed({ hold: current, counted }) : Exit.fail(shortage))
    }
    // A hold that does not cover the estimate has set aside everything that was available.
    const isExtensible = balancesCover(hold, expectedUsage(estimate, price), price)
    if (!isExtensible || covers(hold, usage, price)) decide(hold)
    else {
      ledger.extend({ admission, usage }, (extending) => {
        if (Exit.isFailure(extending)) callback(Exit.failCause(extending.cause))
        else if (extending.value === undefined) callback(Exit.fail(new Overloaded({ retryAfterSeconds: 1 })))
        else decide(extending.value)
      })
    }
  })
}
