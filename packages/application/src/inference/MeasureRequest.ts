/**
 * What a request is to be charged, from the facts it left behind.
 *
 * The tokenizer is asked only where no supplier's figure serves. The facts are taken before it is, so that what arrives
 * meanwhile does not change them.
 */
import { chargeFor, type LocalCounts, type Outcome, reportedPrompt } from "@tollgate/domain/inference/Charge"
import * as Tokens from "@tollgate/domain/money/Tokens"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Measured } from "../ledger/InferenceLedger.ts"
import type { Delivery } from "./Delivery.ts"
import type { InferenceRequest } from "./RelayConnection.ts"
import type { TokenCounter } from "./TokenCounter.ts"

/** The counts that {@link measured} needs for an outcome that `needsLocalCount`, of the content that was delivered of each choice. */
export const countsFor = (
  outcome: Outcome,
  contents: ReadonlyArray<string>,
  request: InferenceRequest,
  counter: Context.Tag.Service<TokenCounter>
): Effect.Effect<LocalCounts> =>
  Effect.gen(function* () {
    const prompt = reportedPrompt(outcome) === undefined ? yield* countPrompt(request, counter) : Tokens.zero
    const output = Tokens.sum(yield* Effect.forEach(contents, counter.count))
    return { prompt: () => prompt, deliveredOutput: () => output }
  })

export const measured = (outcome: Outcome, counts: LocalCounts, delivery: Delivery): Measured => ({
  ending: outcome.ending,
  charge: chargeFor(outcome, counts),
  ttftMillis: delivery.ttftMillis,
  durationMillis: delivery.durationMillis
})

const none = () => Tokens.zero
/** For outcomes that need no count. */
export const NOT_COUNTED: LocalCounts = { prompt: none, deliveredOutput: none }

const countPrompt = (request: InferenceRequest, counter: Context.Tag.Service<TokenCounter>) => {
  const { text, extraTokens } = request.promptText()
  return Effect.map(counter.count(text), (counted) => Tokens.add(counted, Tokens.fromCount(extraTokens)))
}
