/**
 * This route serves `POST /v1/messages/count_tokens`, which returns the number of tokens in a prompt. API keys, bodies
 * and errors are handled as in the relay, but the request is neither recorded nor charged. A provider counts
 * the tokens. If no provider returns a number, the gateway estimates the number.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { countPrompt } from "@tollgate/application/inference/CountPrompt"
import { requireFunds } from "@tollgate/application/inference/Funds"
import type { UpstreamExchange, UpstreamRequest, Upstreams } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import { allowsModel } from "@tollgate/domain/customer/KeyLimits"
import { ModelNotFound, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { asCount, asObject } from "@tollgate/domain/inference/Json"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { presentedKey } from "../../auth/PresentedKey.ts"
import { errorOfDefect } from "../../http/Defects.ts"
import { MemoryReservation } from "../../http/MemoryReservation.ts"
import { type InferenceBodyLimits, type InferenceBodyRefusal, readInferenceBody } from "../../http/RequestBody.ts"
import { withoutByteOrderMark } from "../../wire/ByteOrderMark.ts"
import { errorBody, type RelayError } from "../../wire/InferenceErrors.ts"
import { inTurns } from "../../wire/Slices.ts"
import { ClientResponse } from "../relay/ClientResponse.ts"
import type { RelayRoute } from "../relay/Relay.ts"
import type { ExchangeSettings } from "../relay/RelayExchange.ts"
import { withUpstreamModel } from "../relay/UpstreamRequestParts.ts"
import { type MessagesRequest, messagesHeadersFor, readCountRequest } from "./MessagesRequest.ts"

/**
 * The maximum number of concurrent count requests to providers. Counts are free, so they must not use up the
 * connections that charged requests need.
 */
const MAX_CONCURRENT_COUNTS = 16

/** The maximum size, in bytes, of a provider's response to a count request. */
const MAX_COUNT_BYTES = 64 * 1024

/** The error for requests that are still running when the grace period of the shutdown ends. */
const drained = new Overloaded({ retryAfterSeconds: 1 })

export const countTokensRoute = (): RelayRoute => {
  const permits = Effect.unsafeMakeSemaphore(MAX_CONCURRENT_COUNTS)
  return {
    path: "/v1/messages/count_tokens",
    open: (request, response, requestId, settings) => new CountTokens(request, response, requestId, settings, permits)
  }
}

class CountTokens {
  readonly #request: IncomingMessage
  readonly #nodeResponse: ServerResponse
  readonly #response: ClientResponse
  readonly #requestId: RequestId
  readonly #settings: ExchangeSettings
  readonly #permits: Effect.Semaphore
  readonly #reservation: MemoryReservation
  #over = false
  #fiber: Fiber.RuntimeFiber<unknown, RelayError> | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: RequestId,
    settings: ExchangeSettings,
    permits: Effect.Semaphore
  ) {
    this.#request = request
    this.#nodeResponse = response
    this.#requestId = requestId
    this.#settings = settings
    this.#permits = permits
    this.#response = new ClientResponse(request, response, requestId, settings, performance.now())
    this.#reservation = new MemoryReservation(settings.counters.bodyMemory, settings.limits.allBodiesBytes)
  }

  #body({ userId }: Principal): Effect.Effect<Buffer, InferenceBodyRefusal | InsufficientBalance> {
    this.#reservation.assignTo(userId)
    const { funds, limits, run } = this.#settings
    return Effect.async((resume) => {
      const beforeLargeBody: InferenceBodyLimits["beforeLargeBody"] = (callback) =>
        run(requireFunds(funds, userId), (exit) => {
          callback(Exit.isSuccess(exit) && !this.#over)
          if (Exit.isFailure(exit)) resume(Exit.failCause(exit.cause))
        })
      const bodyLimits = { limitBytes: limits.bodyBytes, reservation: this.#reservation, beforeLargeBody }
      readInferenceBody(this.#request, this.#nodeResponse, bodyLimits, resume)
    })
  }

  /**
   * Requests a count from one provider. Returns none immediately if {@link MAX_CONCURRENT_COUNTS} counts are running.
   */
  #providerCount(request: MessagesRequest, candidate: Candidate): Effect.Effect<Option.Option<Tokens.Tokens>> {
    const counting = Effect.suspend(() =>
      upstreamCount(this.#settings.upstreams, {
        candidate,
        path: "/messages/count_tokens",
        headers: messagesHeadersFor(this.#request.headers, false),
        body: withUpstreamModel(request, candidate.route.upstreamModel)
      })
    )
    return Effect.map(this.#permits.withPermitsIfAvailable(1)(counting), Option.flatten)
  }

  start(onOver: () => void): void {
    const counted = Effect.gen(this, function* () {
      const presented = yield* presentedKey(this.#request.rawHeaders, this.#request.socket)
      const principal = yield* (yield* ApiKeyAuthenticator).authenticate(presented)
      const request = yield* yield* inTurns(readCountRequest(yield* this.#body(principal)))
      if (!allowsModel(principal.limits, request.model)) return yield* new ModelNotFound({ model: request.model })
      const tokens = yield* countPrompt("messages", request, (candidate) => this.#providerCount(request, candidate))
      this.#response.writeWhole(`{"input_tokens":${tokens}}`, "utf8")
    })
    this.#fiber = this.#settings.fork(counted)
    this.#fiber.addObserver((exit) => {
      this.#over = true
      if (Exit.isFailure(exit)) this.#report(exit.cause)
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
    this.#refuse(drained)
    this.#interrupt()
  }

  #report(cause: Cause.Cause<RelayError>): void {
    if (!Chunk.isEmpty(Cause.defects(cause))) this.#settings.alarm(this.#requestId, cause)
    const failure = Cause.failureOption(cause)
    if (!this.#response.gone && !this.#response.ended) {
      this.#refuse(Option.getOrElse(failure, () => errorOfDefect(cause)))
    }
  }

  #refuse(error: RelayError): void {
    this.#response.refuse(errorBody(error, this.#requestId, "anthropic"))
  }

  #interrupt(): void {
    this.#fiber?.unsafeInterruptAsFork(FiberId.none)
  }
}

/**
 * Requests a count from one provider. Some providers do not support counts. A response without a count therefore gives
 * `none` and is not recorded as a failure of the provider.
 */
const upstreamCount = (
  upstreams: Context.Tag.Service<Upstreams>,
  request: UpstreamRequest
): Effect.Effect<Option.Option<Tokens.Tokens>> =>
  Effect.async((resume) => {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    let status = 0
    let exchange: UpstreamExchange | undefined
    let ended = false
    const close = () => {
      ended = true
      exchange?.close("undecided")
    }
    const end = (count: Option.Option<Tokens.Tokens>) => {
      if (ended) return
      close()
      resume(Effect.succeed(count))
    }
    const sent = upstreams.send(request, {
      onHead: (head) => {
        status = head.status
      },
      onData: (chunk) => {
        bytes += chunk.length
        if (bytes > MAX_COUNT_BYTES) end(Option.none())
        else chunks.push(chunk)
        return true
      },
      onEnd: () => end(status >= 200 && status < 300 ? countIn(Buffer.concat(chunks)) : Option.none()),
      onBroken: () => end(Option.none())
    })
    if (Either.isLeft(sent)) end(Option.none())
    else {
      exchange = sent.right
      if (ended) exchange.close("undecided")
    }
    return Effect.sync(close)
  })

const countIn = (body: Buffer): Option.Option<Tokens.Tokens> => {
  try {
    const count = asCount(asObject(JSON.parse(withoutByteOrderMark(body).toString()))?.input_tokens)
    return count === undefined ? Option.none() : Option.some(Tokens.fromCount(count))
  } catch {
    return Option.none()
  }
}
