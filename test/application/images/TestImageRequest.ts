/**
 * An image request with all its ports. A test sets the behaviour of the client and of the providers. The locks and the
 * leases of the real store are tested with Postgres.
 */
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { ImageConnection, ImageResult } from "@tollgate/application/images/ImageConnection"
import { type ImageAdmission, ImageRequests } from "@tollgate/application/images/ImageRequests"
import { makeImage } from "@tollgate/application/images/MakeImage"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
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

export const IMAGE = "an image"
export const USED = { prompt: { ...TokenUsage.none, input: Tokens(10n) }, output: Tokens(1_000n) }
export const completed: ImageResult<string> = { _tag: "Completed", image: IMAGE, usage: USED }

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
  aModel("unrouted", { routes: [aRoute({ provider: ProviderName("texts") })] })
]

const catalog: Catalog = {
  version: 1,
  models: new Map(models.map((model) => [model.publicName, model])),
  providers: new Map(providers.map((provider) => [provider.name, provider]))
}

type Refusal<Port extends (...args: never) => Effect.Effect<unknown, unknown>> =
  ReturnType<Port> extends Effect.Effect<unknown, infer E> ? E : never

export class TestImageRequest {
  readonly delays: Record<"authenticate" | "read" | "begin" | "attempt" | "finish", Duration.DurationInput> = {
    authenticate: 0,
    read: 0,
    begin: 0,
    attempt: 0,
    finish: 0
  }
  requestId = RequestId("request")
  presentedKey: ImageConnection<string>["presentedKey"] = Either.right(Redacted.make("key"))
  idempotencyKey: ImageConnection<string>["idempotencyKey"] = Either.right("once")
  request: Partial<ImageRequest> = {}
  authenticates: Effect.Effect<void, Refusal<ApiKeyAuthenticator["Type"]["authenticate"]>> = Effect.void
  reads: Effect.Effect<void, Refusal<ImageConnection<string>["readRequest"]>> = Effect.void
  begins: Effect.Effect<void, Refusal<ImageRequests["Type"]["begin"]>> = Effect.void
  /** The results of the attempts, by provider name. */
  attempts: Readonly<Record<string, Effect.Effect<ImageResult<string>, FailedAttempt<RouteError>>>> = {}
  /** True if the lease has expired and another node has abandoned the request. */
  leaseLost = false
  gone = false

  readonly begun: Array<ImageAdmission> = []
  readonly finished: Array<ImageOutcome> = []
  /** The names of the providers in the order of the attempts. `aborted` lists those whose HTTP exchange was aborted. */
  readonly attempted: Array<string> = []
  readonly aborted: Array<string> = []

  readonly result = Effect.suspend(() =>
    Effect.flatMap(Effect.clock, (clock) => {
      const client: ImageConnection<string> = {
        requestId: this.requestId,
        operation: this.request.operation ?? "generate",
        presentedKey: this.presentedKey,
        idempotencyKey: this.idempotencyKey,
        acceptedAtMillis: clock.unsafeCurrentTimeMillis(),
        nowMillis: () => clock.unsafeCurrentTimeMillis(),
        readRequest: (_, checkModel) => this.#read(checkModel),
        attempt: (_, candidate) => this.#attempt(candidate),
        gone: () => this.gone
      }
      return Effect.provide(makeImage(client), this.#ports)
    })
  )

  #read(checkModel: (model: string) => Either.Either<void, Refusal<ImageConnection<string>["readRequest"]>>) {
    return Effect.gen(this, function* () {
      yield* Effect.sleep(this.delays.read)
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
      yield* checkModel(request.model)
      return request
    })
  }

  #attempt({ provider }: Candidate) {
    this.attempted.push(provider.name)
    const result = this.attempts[provider.name] ?? Effect.succeed(completed)
    return Effect.zipRight(Effect.sleep(this.delays.attempt), result).pipe(
      Effect.onInterrupt(() => Effect.sync(() => this.aborted.push(provider.name)))
    )
  }

  readonly #ports = Layer.mergeAll(
    Layer.succeed(ApiKeyAuthenticator, {
      authenticate: () =>
        Effect.as(
          Effect.zipRight(
            Effect.sleep(this.delays.authenticate),
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
        Effect.sleep(this.delays.begin).pipe(
          Effect.zipRight(Effect.suspend(() => this.begins)),
          Effect.zipRight(Effect.sync(() => void this.begun.push(image)))
        ),
      finish: ({ outcome }) =>
        Effect.zipRight(
          Effect.sleep(this.delays.finish),
          Effect.sync(() => {
            const written = outcome()
            this.finished.push(written)
            return this.leaseLost ? undefined : written
          })
        ),
      abandon: Effect.dieMessage("not called in this test"),
      deleteOldKeys: Effect.dieMessage("not called in this test")
    })
  )
}
