import { it } from "@effect/vitest"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { countPrompt, type ProviderCount } from "@tollgate/application/inference/CountPrompt"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { ModelNotFound } from "@tollgate/domain/inference/InferenceErrors"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { Effect, Fiber, Layer, Option, TestClock } from "effect"
import { expect } from "vitest"
import { catalogOf } from "../../adapters-http/inference/relay/TestGateway.ts"

const request: InferenceRequest = {
  model: "m",
  streamed: false,
  size: { textBytes: 5, attachments: 0, maxOutputTokens: undefined, choices: 1 },
  promptText: () => ({ text: "hello", extraTokens: 2 })
}

/** The number of characters that the token counter has counted. */
let countedCharacters = 0

/** Provides a catalog with four routes, and a token counter that counts characters. */
const ports = Layer.mergeAll(
  Layer.succeed(CurrentCatalog, {
    get: () =>
      catalogOf(
        { protocols: ["messages"] },
        { protocols: ["chat"] },
        { protocols: ["messages"] },
        { protocols: ["messages"] }
      )
  }),
  Layer.succeed(TokenCounter, {
    count: (text) =>
      Effect.sync(() => {
        countedCharacters += text.length
        return Tokens.fromCount(text.length)
      })
  })
)

const counting = (providerCount: ProviderCount, counted: InferenceRequest = request) =>
  Effect.provide(countPrompt("messages", counted, providerCount), ports)

it.effect(
  "countPrompt queries the providers that support the protocol, one after the other, until one returns a count",
  () =>
    Effect.gen(function* () {
      const called: Array<string> = []
      const providerCount: ProviderCount = ({ provider }) =>
        Effect.sync(() => {
          called.push(provider.name)
          return provider.name === "provider-2" ? Option.some(Tokens.fromCount(42)) : Option.none()
        })
      expect(yield* counting(providerCount)).toBe(42n)
      expect(called).toEqual(["provider-0", "provider-2"])
    })
)

it.effect("countPrompt refuses a model of a kind that the protocol cannot call", () =>
  Effect.gen(function* () {
    const unasked: ProviderCount = () => Effect.dieMessage("a provider was asked")
    for (const kind of ["image", "embedding"] as const) {
      const catalog = catalogOf({ protocols: ["messages", "images", "embeddings"] })
      const models = new Map(Array.from(catalog.models, ([name, model]) => [name, { ...model, kind }] as const))
      const refused = countPrompt("messages", request, unasked).pipe(
        Effect.provideService(CurrentCatalog, { get: () => ({ ...catalog, models }) }),
        Effect.provide(ports)
      )
      expect(yield* Effect.flip(refused), kind).toEqual(new ModelNotFound({ model: "m" }))
    }
  })
)

it.effect("countPrompt counts the tokens locally if no provider returns a count in time", () =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(counting(() => Effect.never))
    yield* TestClock.adjust("5 seconds")
    expect(yield* Fiber.join(fiber)).toBe(7n)
  })
)

it.effect("countPrompt extrapolates the local count of a long prompt from the count of 200,000 characters", () =>
  Effect.gen(function* () {
    const long = { ...request, promptText: () => ({ text: "x".repeat(1_234_567), extraTokens: 2 }) }
    countedCharacters = 0
    expect(yield* counting(() => Effect.succeedNone, long)).toBe(1_234_569n)
    expect(countedCharacters).toBe(200_000)
  })
)
