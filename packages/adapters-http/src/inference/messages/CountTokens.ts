/**
 * `POST /v1/messages/count_tokens`: served beside the relay, by the same rules for keys, bodies and errors, but neither
 * metered nor charged.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { countPrompt } from "@tollgate/application/inference/CountPrompt"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type * as Tokens from "@tollgate/domain/money/Tokens"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { presentedKey } from "../../auth/PresentedKey.ts"
import { MemoryReservation } from "../../http/MemoryReservation.ts"
import { type InferenceBodyRefusal, readInferenceBody } from "../../http/RequestBody.ts"
import { errorBody, type RelayError } from "../../wire/InferenceErrors.ts"
import { ClientResponse } from "../relay/ClientResponse.ts"
import type { RelayRoute } from "../relay/Relay.ts"
import type { ExchangeSettings } from "../relay/RelayExchange.ts"
import { messagesHeadersFor } from "./MessagesHeaders.ts"
import { type MessagesRequest, messagesBodyFor, readCountRequest } from "./MessagesRequest.ts"
import { supplierCount } from "./UpstreamCount.ts"

/** Suppliers are asked so often at a time: what is free must not take the place of what is paid for. */
const ASKED_AT_A_TIME = 16

/** Told to those whom draining does not wait for. */
const cutOff = new Overloaded({ retryAfterSeconds: 1 })

export const countTokensRoute = (): RelayRoute => {
  const turns = Effect.unsafeMakeSemaphore(ASKED_AT_A_TIME)
  return {
    path: "/v1/messages/count_tokens",
    open: (request, response, requestId, settings) => new CountTokens(request, response, requestId, settings, turns)
  }
}

class CountTokens {
  readonly #request: IncomingMessage
  readonly #nodeResponse: ServerResponse
  readonly #response: ClientResponse
  readonly #requestId: RequestId
  readonly #settings: ExchangeSettings
  readonly #turns: Effect.Semaphore
  readonly #reservation: MemoryReservation
  #fiber: Fiber.RuntimeFiber<unknown, RelayError> | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: RequestId,
    settings: ExchangeSettings,
    turns: Effect.Semaphore
  ) {
    this.#request = request
    this.#nodeResponse = response
    this.#requestId = requestId
    this.#settings = settings
    this.#turns = turns
    this.#response = new ClientResponse(request, response, requestId, settings, performance.now())
    this.#reservation = new MemoryReservation(settings.counters.bodyMemory, settings.limits.allBodiesBytes)
  }

  readonly #body = Effect.async<Buffer, InferenceBodyRefusal>((resume) =>
    readInferenceBody(this.#request, this.#nodeResponse, this.#settings.limits.bodyBytes, this.#reservation, resume)
  )

  /** When too many are being asked, this one is not. */
  #providerCount(request: MessagesRequest, candidate: Candidate): Effect.Effect<Option.Option<Tokens.Tokens>> {
    const asking = Effect.suspend(() =>
      supplierCount(this.#settings.upstreams, {
        candidate,
        path: "/messages/count_tokens",
        headers: messagesHeadersFor(this.#request.headers, false),
        body: messagesBodyFor(request, candidate.route.upstreamModel)
      })
    )
    return Effect.map(this.#turns.withPermitsIfAvailable(1)(asking), Option.flatten)
  }

  start(onOver: () => void): void {
    const counted = Effect.gen(this, function* () {
      const presented = yield* presentedKey(this.#request.rawHeaders, this.#request.socket)
      yield* (yield* ApiKeyAuthenticator).authenticate(presented)
      const request = yield* readCountRequest(yield* this.#body)
      const tokens = yield* countPrompt("messages", request, (candidate) => this.#providerCount(request, candidate))
      this.#response.writeWhole(`{"input_tokens":${tokens}}`)
    })
    this.#fiber = this.#settings.fork(counted)
    this.#fiber.addObserver((exit) => {
      if (Exit.isFailure(exit)) this.#tell(exit.cause)
      this.#reservation.release()
      onOver()
    })
  }

  close(): void {
    this.#response.close()
    if (this.#response.gone) this.#interrupt()
  }

  cut(): void {
    if (this.#response.ended) return
    this.#refuse(cutOff)
    this.#interrupt()
  }

  #tell(cause: Cause.Cause<RelayError>): void {
    if (!Chunk.isEmpty(Cause.defects(cause))) this.#settings.alarm(this.#requestId, cause)
    const failure = Cause.failureOption(cause)
    if (!this.#response.gone && !this.#response.ended) {
      this.#refuse(Option.getOrElse(failure, (): RelayError => ({ _tag: "InternalError" })))
    }
  }

  #refuse(error: RelayError): void {
    this.#response.refuse(errorBody(error, this.#requestId, "anthropic"))
  }

  #interrupt(): void {
    this.#fiber?.unsafeInterruptAsFork(FiberId.none)
  }
}
