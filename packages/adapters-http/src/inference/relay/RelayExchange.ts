/**
 * `RelayExchange` is the HTTP side of one relayed request, from the request headers to the last byte of the response.
 *
 *     authenticate ─▶ read the body ─▶ parse ─▶ RelayRequest ─▶ write a whole response or an error
 *
 * docs/reference/inference.md#a11 specifies the order of the steps. The use case `RelayRequest` handles the parsed
 * request up to its settlement. It calls {@link RelayExchange.attempt} for each route that it tries.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import type { Delivery } from "@tollgate/application/inference/Delivery"
import { type Funds, requireFunds } from "@tollgate/application/inference/Funds"
import type { OpenRequests } from "@tollgate/application/inference/OpenRequests"
import type {
  InferenceRequest,
  RelayConnection,
  Run,
  WriteResponse
} from "@tollgate/application/inference/RelayConnection"
import type { RelayRequest } from "@tollgate/application/inference/RelayRequest"
import type { Attempt, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type { Callback, InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import { type InvalidRequest, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Redacted from "effect/Redacted"
import { presentedKey } from "../../auth/PresentedKey.ts"
import { errorOfDefect } from "../../http/Defects.ts"
import { MemoryReservation } from "../../http/MemoryReservation.ts"
import { type InferenceBodyLimits, readInferenceBody } from "../../http/RequestBody.ts"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { inTurns } from "../../wire/Slices.ts"
import { ClientResponse, type ClientResponseSettings } from "./ClientResponse.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"
import type { AttemptSettings, RouteAttempt } from "./RouteAttempt.ts"
import { StreamAttempt } from "./StreamAttempt.ts"
import { WholeAttempt } from "./WholeAttempt.ts"

/** The ports that relayed requests use, besides `Upstreams`. */
export type RelayPorts = ApiKeyAuthenticator | Funds | CurrentCatalog | InferenceLedger | OpenRequests | TokenCounter

export interface BodyLimits {
  readonly bodyBytes: number
  /** The memory limit for the bodies of all relayed requests together, in bytes. */
  readonly allBodiesBytes: number
}

export interface ExchangeSettings extends ClientResponseSettings, AttemptSettings {
  readonly authenticator: ApiKeyAuthenticator["Type"]
  readonly funds: Funds["Type"]
  readonly relayRequest: RelayRequest
  /** Runs an effect in a new fiber. */
  readonly run: Run
  /** Runs an effect in a new fiber and returns the fiber, for the route that counts tokens. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E, RelayPorts>) => Fiber.RuntimeFiber<A, E>
  readonly limits: BodyLimits
  readonly wallMillis: () => number
  readonly alarm: (requestId: string, defect: Cause.Cause<unknown>) => void
}

const CLIENT_GONE: Exit.Exit<never> = Exit.interrupt(FiberId.none)

/**
 * The error for requests that are still running when the grace period of the shutdown is over. Clients should repeat
 * these requests on another server.
 */
const DRAINED = new Overloaded({ retryAfterSeconds: 1 })

export class RelayExchange<Request extends InferenceRequest> implements RelayConnection<Request> {
  readonly requestId: RequestId
  readonly protocol: Protocol
  readonly acceptedAtMillis = performance.now()
  readonly #descriptor: RelayProtocol<Request>
  readonly #request: IncomingMessage
  readonly #nodeResponse: ServerResponse
  readonly #response: ClientResponse
  readonly #settings: ExchangeSettings
  readonly #reservation: MemoryReservation
  #attempt: RouteAttempt<Request> | undefined
  #delivery: Delivery | undefined
  #failed = false
  #over = false
  #onOver: () => void = () => {}

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: RequestId,
    descriptor: RelayProtocol<Request>,
    settings: ExchangeSettings
  ) {
    this.requestId = requestId
    this.protocol = descriptor.protocol
    this.#descriptor = descriptor
    this.#request = request
    this.#nodeResponse = response
    this.#settings = settings
    this.#response = new ClientResponse(request, response, requestId, settings, this.acceptedAtMillis)
    this.#reservation = new MemoryReservation(settings.counters.bodyMemory, settings.limits.allBodiesBytes)
  }

  start(onOver: () => void): void {
    this.#onOver = onOver
    const presented = presentedKey(this.#request.rawHeaders, this.#request.socket)
    if (this.#response.gone) this.#end(CLIENT_GONE)
    else if (presented._tag === "Left") this.#end(Exit.fail(presented.left))
    else this.#step(() => this.#authenticate(presented.right))
  }

  #authenticate(presented: Redacted.Redacted<string>): void {
    const { authenticator, run } = this.#settings
    const recalled = authenticator.recall(presented)
    if (recalled?._tag === "Right") this.#readBody(recalled.right)
    else if (recalled?._tag === "Left") this.#end(Exit.fail(recalled.left))
    else {
      run(authenticator.authenticate(presented), (exit) => {
        if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
        else this.#step(() => this.#readBody(exit.value))
      })
    }
  }

  #readBody(principal: Principal): void {
    if (this.#over) return
    this.#reservation.assignTo(principal.userId)
    const limits: InferenceBodyLimits = {
      limitBytes: this.#settings.limits.bodyBytes,
      reservation: this.#reservation,
      beforeLargeBody: (callback) => this.#checkFunds(principal, callback)
    }
    readInferenceBody(this.#request, this.#nodeResponse, limits, (body) => {
      if (body._tag === "Left") this.#end(Exit.fail(body.left))
      else this.#step(() => this.#relay(principal, body.right))
    })
  }

  #checkFunds({ userId }: Principal, callback: (continues: boolean) => void): void {
    this.#settings.run(requireFunds(this.#settings.funds, userId), (exit) => {
      callback(Exit.isSuccess(exit) && !this.#over)
      if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
    })
  }

  #relay(principal: Principal, body: Buffer): void {
    if (this.#over) return
    const reading = this.#descriptor.read(body)
    const first = reading.next()
    if (first.done === true) this.#relayRead(principal, first.value)
    else {
      const isOver = () => this.#over
      this.#settings.run(inTurns(reading, isOver), (exit) => {
        if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
        else this.#step(() => this.#relayRead(principal, exit.value))
      })
    }
  }

  #relayRead(principal: Principal, read: Either.Either<Request, InvalidRequest>): void {
    if (this.#over) return
    if (read._tag === "Left") this.#end(Exit.fail(read.left))
    else this.#settings.relayRequest(this, principal, read.right, (exit) => this.#end(exit))
  }

  /** Handles a disconnect of the client. The use case replaces this callback when it receives the request. */
  onDisconnect: () => void = () => this.#end(CLIENT_GONE)

  nowMillis(): number {
    return performance.now()
  }

  committed(): boolean {
    return this.#response.committed
  }

  gone(): boolean {
    return this.#response.gone
  }

  abort(): void {
    this.#attempt?.abort()
  }

  attempt(
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ): void {
    const { requestId } = this
    const descriptor = this.#descriptor
    const { stream } = descriptor
    const target = { requestId, protocol: descriptor, request, candidate, response: this.#response }
    const createdAtSeconds = Math.floor(this.#settings.wallMillis() / 1000)
    const context = { requestId, publicName: request.model, createdAtSeconds }
    const attempt =
      request.streamed && stream !== undefined
        ? new StreamAttempt(target, stream, this.#settings, callback, context, delivery)
        : new WholeAttempt(target, this.#settings, callback, context, delivery)
    this.#delivery = delivery
    this.#attempt = attempt
    attempt.start({
      candidate,
      path: descriptor.upstreamPath,
      headers: descriptor.headersFor(this.#request.headers, request.streamed),
      body: descriptor.bodyFor(request, candidate.route.upstreamModel)
    })
  }

  /** Aborts the request if the client disconnected. Must be called once, on the event `close` of the response. */
  close(): void {
    this.#response.close()
    if (!this.#response.gone) return
    this.#attempt?.abort()
    this.onDisconnect()
  }

  /**
   * Ends this request, except if `Relay.cutAll` excludes it: sends an error, and settles the request as if the client
   * had disconnected.
   */
  cut(): void {
    if (this.#response.ended || this.#attempt?.completed === true) return
    this.#failed = true
    this.#attempt?.abort()
    if (this.#response.committed) {
      // The amount of delivered content is final only when the socket has accepted the last byte.
      this.#response.whenAccepted(() => this.onDisconnect())
      this.#response.end(this.#errorFrames(DRAINED))
    } else {
      this.#response.refuse(this.#descriptor.errorBody(DRAINED, this.requestId))
      this.onDisconnect()
    }
  }

  /** Runs a step. An exception in the step ends this request. */
  #step(step: () => void): void {
    try {
      step()
    } catch (defect) {
      this.#end(Exit.die(defect))
    }
  }

  #end(exit: Exit.Exit<WriteResponse | undefined, RelayError>): void {
    if (this.#over) return
    this.#over = true
    try {
      if (Exit.isFailure(exit)) this.#respondWithError(exit.cause)
      else exit.value?.()
      this.#count()
    } catch (defect) {
      // A defect of one request must not end the process.
      this.#settings.alarm(this.requestId, Cause.die(defect))
      this.#nodeResponse.destroy()
    }
    this.#reservation.release()
    this.#onOver()
  }

  #respondWithError(cause: Cause.Cause<RelayError>): void {
    const failure = Cause.failureOption(cause)
    if (!Chunk.isEmpty(Cause.defects(cause))) this.#settings.alarm(this.requestId, cause)
    this.#failed ||= failure._tag === "Some"
    if (this.#response.gone || this.#response.ended) return
    this.#failed = true
    const error: RelayError = failure._tag === "Some" ? failure.value : errorOfDefect(cause)
    if (this.#response.committed) this.#response.end(this.#errorFrames(error))
    else this.#response.refuse(this.#descriptor.errorBody(error, this.requestId))
  }

  /** Returns the frames that end a stream with an error. They can depend on the frames that the attempt has sent. */
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
