/**
 * Everything around one image request: a customer who asks, a supplier that does as it is told, and a store that keeps
 * a record. What a real store adds (locks, uniqueness, leases) is tested with the real store.
 */

import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { ImageAnswer, ImageConnection } from "@tollgate/application/images/ImageConnection"
import { type ImageAdmission, ImageRequests } from "@tollgate/application/images/ImageRequests"
import { makeImage } from "@tollgate/application/images/MakeImage"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import type { FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { Candidate, Catalog } from "@tollgate/domain/catalog/Catalog"
import { type Model, ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { type Provider, ProviderName } from "@tollgate/domain/catalog/Provider"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import type { ImageOutcome } from "@tollgate/domain/images/ImageOutcome"
import type { ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { type Duration, Effect, Either, Layer, Redacted } from "effect"
import { aProvider, aRoute } from "../../support/upstream/Candidates.ts"

export const PICTURE = "a picture"
export const USED = { prompt: { ...TokenUsage.none, input: Tokens(10n) }, output: Tokens(1_000n) }
export const pictured: ImageAnswer<string> = { _tag: "Pictured", picture: PICTURE, usage: USED }

export const A_KEY = ApiKeyId.make("01890000-0000-7000-8000-00000000000a")
export const A_USER = UserId.make("01890000-0000-7000-8000-00000000000b")

const one = PicoPerToken(1n)

export const aModel = (publicName: string, parts: Partial<Model> = {}): Model => ({
  id: ModelId(publicName),
  publicName,
  displayName: publicName,
  author: "Lab",
  kind: "image",
  discoveryRank: 0,
  hidden: false,
  retired: false,
  capabilities: ["generate"],
  price: { input: one, cacheWrite: one, cacheRead: one, output: one },
  priceId: PriceId(`price of ${publicName}`),
  routes: [aRoute({ provider: ProviderName("first") })],
  ...parts
})

const providers: ReadonlyArray<Provider> = [
  aProvider({ name: ProviderName("first"), protocols: ["images"] }),
  aProvider({ name: ProviderName("second"), protocols: ["images"] }),
  aProvider({ name: ProviderName("texts"), protocols: ["chat"] })
]

const models: ReadonlyArray<Model> = [
  aModel("painter", {
    routes: [aRoute({ provider: ProviderName("second"), priority: 2 }), aRoute({ provider: ProviderName("first") })]
  }),
  aModel("editor", { capabilities: ["edit"] }),
  aModel("writer", { kind: "text", capabilities: [] }),
  aModel("hidden", { hidden: true }),
  aModel("retired", { retired: true }),
  aModel("homeless", { routes: [aRoute({ provider: ProviderName("texts") })] })
]

const catalog: Catalog = {
  version: 1,
  models: new Map(models.map((model) => [model.publicName, model])),
  providers: new Map(providers.map((provider) => [provider.name, provider]))
}

type Refusal<Port extends (...args: never) => Effect.Effect<unknown, unknown>> =
  ReturnType<Port> extends Effect.Effect<unknown, infer E> ? E : never

export class Studio {
  /** What happens first to the customer's request and to what is done for it; each step begins with its time. */
  readonly takes: Record<"authenticate" | "read" | "begin" | "ask" | "finish", Duration.DurationInput> = {
    authenticate: 0,
    read: 0,
    begin: 0,
    ask: 0,
    finish: 0
  }
  presentedKey: ImageConnection<string>["presentedKey"] = Either.right(Redacted.make("key"))
  idempotencyKey: ImageConnection<string>["idempotencyKey"] = Either.right("once")
  request: Partial<ImageRequest> = {}
  authenticates: Effect.Effect<void, Refusal<ApiKeyAuthenticator["Type"]["authenticate"]>> = Effect.void
  reads: Effect.Effect<void, Refusal<ImageConnection<string>["takeRequest"]>> = Effect.void
  begins: Effect.Effect<void, Refusal<ImageRequests["Type"]["begin"]>> = Effect.void
  /** By the supplier's name. */
  answers: Readonly<Record<string, Effect.Effect<ImageAnswer<string>, FailedAttempt>>> = {}
  /** The lease has passed, and somebody else has given the request up. */
  leaseLost = false
  gone = false

  readonly begun: Array<ImageAdmission> = []
  readonly finished: Array<ImageOutcome> = []
  /** Suppliers, in the order in which they were asked, and those whose exchange was aborted. */
  readonly asked: Array<string> = []
  readonly aborted: Array<string> = []

  /** The request, accepted now. */
  readonly made = Effect.suspend(() =>
    Effect.flatMap(Effect.clock, (clock) => {
      const client: ImageConnection<string> = {
        requestId: RequestId("request"),
        operation: this.request.operation ?? "generate",
        presentedKey: this.presentedKey,
        idempotencyKey: this.idempotencyKey,
        acceptedAtMillis: clock.unsafeCurrentTimeMillis(),
        nowMillis: () => clock.unsafeCurrentTimeMillis(),
        takeRequest: (capable) => this.#read(capable),
        ask: (_, candidate) => this.#ask(candidate),
        gone: () => this.gone
      }
      return Effect.provide(makeImage(client), this.#ports)
    })
  )

  #read(capable: (model: string) => Either.Either<void, Refusal<ImageConnection<string>["takeRequest"]>>) {
    return Effect.gen(this, function* () {
      yield* Effect.sleep(this.takes.read)
      yield* this.reads
      const request: ImageRequest = {
        operation: "generate",
        model: "painter",
        prompt: "a toll gate",
        size: "auto",
        quality: "auto",
        source: undefined,
        members: {},
        ...this.request
      }
      yield* capable(request.model)
      return request
    })
  }

  #ask({ provider }: Candidate) {
    this.asked.push(provider.name)
    const answer = this.answers[provider.name] ?? Effect.succeed(pictured)
    return Effect.zipRight(Effect.sleep(this.takes.ask), answer).pipe(
      Effect.onInterrupt(() => Effect.sync(() => this.aborted.push(provider.name)))
    )
  }

  readonly #ports = Layer.mergeAll(
    Layer.succeed(ApiKeyAuthenticator, {
      authenticate: () =>
        Effect.as(
          Effect.zipRight(
            Effect.sleep(this.takes.authenticate),
            Effect.suspend(() => this.authenticates)
          ),
          {
            keyId: A_KEY,
            userId: A_USER
          }
        ),
      recall: () => undefined
    }),
    Layer.succeed(CurrentCatalog, { get: () => catalog }),
    Layer.succeed(ImageRequests, {
      begin: (image) =>
        Effect.sleep(this.takes.begin).pipe(
          Effect.zipRight(Effect.suspend(() => this.begins)),
          Effect.zipRight(Effect.sync(() => void this.begun.push(image)))
        ),
      finish: ({ outcome }) =>
        Effect.zipRight(
          Effect.sleep(this.takes.finish),
          Effect.sync(() => {
            const written = outcome()
            this.finished.push(written)
            return this.leaseLost ? undefined : written
          })
        ),
      abandon: Effect.dieMessage("not asked for"),
      forgetKeys: Effect.dieMessage("not asked for")
    })
  )
}
