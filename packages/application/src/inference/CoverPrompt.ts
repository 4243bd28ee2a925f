/**
 * Ensures that the hold of an admitted request covers its prompt before content reaches the client. A request that
 * waited for its hold is not sent to a provider before that.
 *
 * A hold sets aside one token for each byte of the prompt if the balances are large. A smaller hold assumes ordinary
 * text, so the prompt is counted, and the hold is extended if the count exceeds the estimate. Without this count,
 * concurrent requests with more tokens than ordinary text could together cost more than the balances
 * (docs/reference/billing.md#i2).
 */
import {
  type CountedPrompt,
  countedUsage,
  isExtensionNeeded,
  promptShortage
} from "@tollgate/domain/inference/CountedPrompt"
import { isPromptCovered } from "@tollgate/domain/inference/Estimate"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded } from "@tollgate/domain/ledger/KeyHold"
import type * as Tokens from "@tollgate/domain/money/Tokens"
import * as Exit from "effect/Exit"
import type { Admission, Callback } from "../ledger/InferenceLedger.ts"
import type { InferenceRequest } from "./RelayConnection.ts"
import type { AllowancePorts } from "./StreamAllowance.ts"
import { promptCountForHold } from "./TokenCounter.ts"

export interface CoveredPrompt {
  readonly hold: Hold
  /**
   * The number of prompt tokens that the gateway has counted for the hold, or the input floor if the count failed;
   * undefined if the hold needed no count.
   */
  readonly counted: Tokens.Tokens | undefined
}

export type PromptShortage = InsufficientBalance | KeyBudgetExceeded | Overloaded

/**
 * Calls back with the hold, which may have been extended. Fails if the balances, or a budget of the key, do not suffice
 * for the counted prompt (`promptShortage`), and if the ledger cannot decide the extension.
 */
export const coverPrompt = (
  hold: Hold,
  admission: Admission,
  request: InferenceRequest,
  { counter, ledger, run }: AllowancePorts,
  callback: Callback<CoveredPrompt, PromptShortage>
): void => {
  if (isPromptCovered(hold, admission)) {
    callback(Exit.succeed({ hold, counted: undefined }))
    return
  }
  run(promptCountForHold(request, counter), (counting) => {
    const counted = Exit.isSuccess(counting) ? counting.value : admission.estimate.inputFloor
    const { estimate, price, streamed } = admission
    const prompt: CountedPrompt = { estimate, price, streamed, counted }
    const decide = (current: Hold) => {
      const shortage = promptShortage(hold, current, prompt)
      callback(shortage === undefined ? Exit.succeed({ hold: current, counted }) : Exit.fail(shortage))
    }
    if (!isExtensionNeeded(hold, prompt)) decide(hold)
    else {
      ledger.extend({ admission, usage: countedUsage(prompt) }, (extending) => {
        if (Exit.isFailure(extending)) callback(Exit.failCause(extending.cause))
        else if (extending.value === undefined) callback(Exit.fail(new Overloaded({ retryAfterSeconds: 1 })))
        else decide(extending.value)
      })
    }
  })
}
