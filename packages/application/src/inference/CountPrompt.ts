/**
 * Counts the tokens of a prompt for a client. If no provider of the model returns a count in time, the count is made
 * locally.
 *
 *     find the model ─▶ query its providers, with one timeout for all ─▶ count locally
 *
 * The model generates nothing, so nothing is held, charged or recorded (docs/reference/inference.md#f14). A count is
 * free for the customer, so limits bound the time and the work of a count.
 */
import { type Candidate, candidatesOf, known, serves } from "@tollgate/domain/catalog/Catalog"
import { ModelNotFound } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import type { PromptText } from "@tollgate/domain/inference/PromptText"
import type * as Tokens from "@tollgate/domain/money/Tokens"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import type { InferenceRequest } from "./RelayConnection.ts"
import { countOf, extrapolated, TokenCounter } from "./TokenCounter.ts"

/**
 * Queries one provider. Returns none if the provider returns no count. An interruption aborts the HTTP exchange
 * immediately.
 */
export type ProviderCount = (candidate: Candidate) => Effect.Effect<Option.Option<Tokens.Tokens>>

/** The timeout for the queries to all providers together. */
const TIMEOUT = Duration.seconds(5)
/**
 * The maximum number of characters of one text whose tokens are counted. The count of a longer text is extrapolated.
 */
const COUNTED_CHARACTERS = 200_000

export const countPrompt = (protocol: Protocol, request: InferenceRequest, providerCount: ProviderCount) =>
  Effect.gen(function* () {
    const catalog = (yield* CurrentCatalog).get()
    const model = yield* known(catalog, request.model)
    if (!serves(model, protocol)) return yield* new ModelNotFound({ model: request.model })
    const candidates = candidatesOf(catalog, model, protocol)
    const counted = yield* Effect.timeoutOption(firstCount(candidates, providerCount), TIMEOUT)
    return Option.isSome(counted) && Option.isSome(counted.value)
      ? counted.value.value
      : yield* estimated(request.promptText())
  })

const firstCount = (
  candidates: ReadonlyArray<Candidate>,
  providerCount: ProviderCount
): Effect.Effect<Option.Option<Tokens.Tokens>> =>
  Effect.gen(function* () {
    for (const candidate of candidates) {
      const counted = yield* providerCount(candidate)
      if (Option.isSome(counted)) return counted
    }
    return Option.none()
  })

/** Counts at most {@link COUNTED_CHARACTERS} of a text, and extrapolates the count of a longer text. */
const estimated = (prompt: PromptText): Effect.Effect<Tokens.Tokens, never, TokenCounter> =>
  Effect.flatMap(TokenCounter, (counter) =>
    countOf(prompt, {
      count: (text) =>
        Effect.map(counter.count(text.slice(0, COUNTED_CHARACTERS)), (counted) =>
          text.length <= COUNTED_CHARACTERS ? counted : extrapolated(counted, COUNTED_CHARACTERS, text.length)
        )
    })
  )
