/**
 * One relayed request, from its first header to the last byte of its response: the client's half of the use case,
 * and what is done when either side ends first.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { OpenRequests } from "@tollgate/application/inference/OpenRequests"
import type {
  Attempt,
  AttemptFailed,
  BodyRefusal,
  InferenceRequest,
  RelayConnection
} from "@tollgate/application/inference/RelayConnection"
import type { RelayRequest } from "@tollgate/application/inference/RelayRequest"
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type { Callback, InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { type InvalidRequest, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { presentedKey } from "../../auth/PresentedKey.ts"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { ClientResponse, type ClientResponseSettings } from "./ClientResponse.ts"
import type { RelayProtocol, ResponseContext } from "./RelayProtocol.ts"
import { BodyLease, type BodyLimits, takeBody } from "./RequestBody.ts"
import type { AttemptSettings, RouteAttempt } from "./RouteAttempt.ts"
import { StreamAttempt } from "./StreamAttempt.ts"
import { WholeAttempt } from "./WholeAttempt.ts"

/** What requests need of the rest of Tollgate, besides their suppliers. */
export type RelayPorts = ApiKeyAuthenticator | CurrentCatalog | InferenceLedger | OpenRequests | TokenCounter

export interface ExchangeSettings extends ClientResponseSettings, AttemptSettings {
  readonly relayRequest: RelayRequest
  /** For what is served beside the relay. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E, RelayPorts>) => Fiber.RuntimeFiber<A, E>
  readonly limits: BodyLimits
  readonly wallMillis: () => number
  readonly alarm: (requestId: string, defect: Cause.Cause<unknown>) => void
}

const nobodyWaits = () => {}

/** Told to those whom draining does not wait for: to come again, elsewhere. */
const cutOff = new Overloaded({ retryAfterSeconds: 1 })

export class RelayExchange<Request extends InferenceRequest> implements RelayConnection<Request> {
  readonly requestId: RequestId
  readonly protocol: Protocol
  readonly presentedKey: RelayConnection<Request>["presentedKey"]
  readonly acceptedAtMillis = performance.now()
  onLeft: () => void = nobodyWaits
  readonly #relayed: RelayProtocol<Request>
  readonly #request: IncomingMessage
  readonly #nodeResponse: ServerResponse
  readonly #response: ClientResponse
  readonly #settings: ExchangeSettings
  readonly #lease: BodyLease
  #attempt: RouteAttempt<Request> | undefined
  #delivery: Delivery | undefined
  #failed = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: RequestId,
    relayed: RelayProtocol<Request>,
    settings: ExchangeSettings
  ) {
    this.requestId = requestId
    this.protocol = relayed.protocol
    this.presentedKey = presentedKey(request.rawHeaders, request.socket)
    this.#relayed = relayed
    this.#request = request
    this.#nodeResponse = response
    this.#settings = settings
    this.#response = new ClientResponse(request, response, requestId, settings, this.acceptedAtMillis)
    this.#lease = new BodyLease(settings.counters, settings.limits)
  }

  nowMillis(): number {
    return performance.now()
  }

  takeBody(answer: Callback<Buffer, BodyRefusal>): void {
    takeBody(this.#request, this.#nodeResponse, this.#settings.limits, this.#lease, answer)
  }

  read(body: Buffer): Either.Either<Request, InvalidRequest> {
    return this.#relayed.read(body)
  }

  committed(): boolean {
    return this.#response.committed
  }

  gone(): boolean {
    return this.#response.gone
  }

  attempt(request: Request, candidate: Candidate, delivery: Delivery, answer: Callback<Attempt, AttemptFailed>): void {
    const { requestId } = this
    const asked = { requestId, protocol: this.#relayed, request, candidate, response: this.#response }
    const context = this.#answerContext(request)
    const { stream } = this.#relayed
    const attempt =
      request.streamed && stream !== undefined
        ? new StreamAttempt(asked, stream, this.#settings, answer, context, delivery)
        : new WholeAttempt(asked, this.#settings, answer, context, delivery)
    this.#delivery = delivery
    this.#attempt = attempt
    attempt.start({
      candidate,
      path: this.#relayed.upstreamPath,
      headers: this.#relayed.headersFor(this.#request.headers, request.streamed),
      body: this.#relayed.bodyFor(request, candidate.route.upstreamModel)
    })
  }

  start(onOver: () => void): void {
    this.#settings.relayRequest(this, (exit) => {
      try {
        if (Exit.isFailure(exit)) this.#tell(exit.cause)
        this.#count()
      } catch (defect) {
        // Thrown on, it would stop what tells this request and many others of their settlements.
        this.#settings.alarm(this.requestId, Cause.die(defect))
        this.#nodeResponse.destroy()
      }
      this.#lease.release()
      onOver()
    })
  }

  /** The connection is closed, or done with this response. */
  close(): void {
    this.#response.close()
    if (!this.#response.gone) return
    this.#attempt?.abort()
    this.onLeft()
  }

  /** Draining does not wait any longer: ends what is not about to end by itself, as if the client had left. */
  cut(): void {
    if (this.#response.ended || this.#attempt?.answered === true) return
    this.#failed = true
    this.#attempt?.abort()
    if (this.#response.committed) {
      // What was delivered is only certain when the socket took all of it.
      this.#response.onTaken = () => this.onLeft()
      this.#response.end(this.#errorFrames(cutOff))
    } else {
      this.#response.refuse(this.#relayed.errorBody(cutOff, this.requestId))
      this.onLeft()
    }
  }

  #answerContext(request: Request): ResponseContext {
    return {
      requestId: this.requestId,
      publicName: request.model,
      createdAtSeconds: Math.floor(this.#settings.wallMillis() / 1000)
    }
  }

  #tell(cause: Cause.Cause<RelayError>): void {
    const failure = Cause.failureOption(cause)
    if (!Chunk.isEmpty(Cause.defects(cause))) this.#settings.alarm(this.requestId, cause)
    this.#failed ||= failure._tag === "Some"
    if (this.#response.gone || this.#response.ended) return
    this.#failed = true
    const error: RelayError = failure._tag === "Some" ? failure.value : { _tag: "InternalError" }
    if (this.#response.committed) this.#response.end(this.#errorFrames(error))
    else this.#response.refuse(this.#relayed.errorBody(error, this.requestId))
  }

  /** Only streams send their status before their end, and only the attempt knows how its stream ends. */
  #errorFrames(error: RelayError): string {
    return this.#attempt?.errorFrames(error) ?? ""
  }

  #count(): void {
    const { counters } = this.#settings
    const { status, gone } = this.#response
    counters.deltas += this.#delivery?.text.deltas ?? 0
    const ending = gone ? "left" : status !== 200 ? "refused" : this.#failed ? "broken" : "complete"
    counters.finished({
      protocol: this.protocol,
      status: status === 0 ? 499 : status,
      ending,
      ttftMillis: this.#delivery?.ttftMillis,
      durationMillis: performance.now() - this.acceptedAtMillis
    })
  }
}
