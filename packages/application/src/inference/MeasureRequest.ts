/**
 * What a request is to be charged, from the facts it left behind.
 *
 * The tokenizer is asked only where no supplier's figure serves; the facts are read before it is, so that what
 * arrives meanwhile does not change them.
 */

import { chargeFor, needsLocalCount, type Outcome } from "@tollgate/domain/inference/Charge"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Effect from "effect/Effect"
import type { Measured } from "../ports/InferenceLedger.ts"
import { TokenCounter } from "../ports/TokenCounter.ts"
import type { Delivery } from "./Delivery.ts"
import type { InferenceRequest } from "./RelayClient.ts"

export const measureRequest = (
  outcome: Outcome,
  content: string,
  request: InferenceRequest,
  delivery: Delivery
): Effect.Effect<Measured, never, TokenCounter> => {
  const { ending, reported } = outcome
  const times = { ttftMillis: delivery.ttftMillis, durationMillis: delivery.durationMillis }
  if (!needsLocalCount(outcome)) {
    return Effect.succeed({ ending, charge: chargeFor(outcome, { prompt: zero, deliveredOutput: zero }), ...times })
  }
  return Effect.gen(function* () {
    const prompt = reported.prompt === undefined ? yield* countPrompt(request) : Tokens.zero
    const output = yield* (yield* TokenCounter).count(content)
    return { ending, charge: chargeFor(outcome, { prompt: () => prompt, deliveredOutput: () => output }), ...times }
  })
}

const zero = () => Tokens.zero

const countPrompt = (request: InferenceRequest) =>
  Effect.gen(function* () {
    const { text, extraTokens } = request.promptText()
    return Tokens.add(yield* (yield* TokenCounter).count(text), Tokens.fromCount(extraTokens))
  })
