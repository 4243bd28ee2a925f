/**
 * `RouteAttempt` sends one request to the provider of one route, waits for the response head, and distinguishes a
 * response, a refusal and a failure. The subclasses `StreamAttempt` and `WholeAttempt` read the response body.
 *
 *     waiting ── status 2xx ───▶ streaming | collecting (read the response body) ──▶ over
 *        └────── other status ─▶ refused (read the error body) ────────────────────▶ over
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { Attempt, AttemptError, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type {
  UpstreamEvents,
  UpstreamExchange,
  UpstreamHead,
  UpstreamRequest,
  Upstreams,
  Verdict
} from "@tollgate/application/inference/Upstreams"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { CollectedBody } from "../../http/CollectedBody.ts"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import type { ProviderSecrets } from "../../wire/ProviderSecrets.ts"
import type { ClientResponse } from "./ClientResponse.ts"
import { FREE_BYTES, type ProviderMemory, type ResponseMemory } from "./ProviderMemory.ts"
import type { RelayCounters } from "./RelayMetrics.ts"
import type { RelayProtocol, ResponseFailure } from "./RelayProtocol.ts"
import type { Tickable, Ticker } from "./Ticker.ts"
import { refusedAttempt, verdictOf } from "./UpstreamFailure.ts"

export interface AttemptSettings {
  readonly upstreams: Context.Tag.Service<Upstreams>
  readonly ticker: Ticker
  readonly counters: RelayCounters
  readonly keepaliveMillis: number
  /** The maximum time in milliseconds that content waits until the hold covers it. */
  readonly writeStallMillis: number
  /** The maximum size of a whole response, in bytes. */
  readonly responseBytes: number
  readonly providerMemory: ProviderMemory
  readonly secrets: ProviderSecrets
  /** Logs a warning for operators. The details may name the provider, because clients never receive them. */
  readonly warn: (message: string, details: Readonly<Record<string, unknown>>) => void
}

export interface AttemptTarget<Request extends InferenceRequest> {
  readonly requestId: string
  readonly protocol: RelayProtocol<Request>
  readonly request: Request
  readonly candidate: Candidate
  readonly response: ClientResponse
}

const REFUSAL_BYTES = 64 * 1024
/** The maximum milliseconds for the body of a refusal. After this time, the chunks that have arrived are used. */
const REFUSAL_MILLIS = 5_000

export abstract class RouteAttempt<Request extends InferenceRequest> implements UpstreamEvents, Tickable {
  index = -1
  protected readonly target: AttemptTarget<Request>
  protected readonly settings: AttemptSettings
  protected readonly callback: Callback<Attempt, FailedAttempt>
  protected phase: "waiting" | "streaming" | "collecting" | "refused" | "over" = "waiting"
  /** The `performance.now()` time from which the silence of the provider is measured. */
  protected receivedAtMillis: number
  /** True once a whole response (not a stream) was passed to the use case. */
  completed = false
  readonly #startedAtMillis: number
  #exchange: UpstreamExchange | undefined
  #verdict: Verdict | undefined
  #status = 0
  #retryAfter: string | undefined
  readonly #body = new CollectedBody()
  #memory: ResponseMemory | undefined

  constructor(target: AttemptTarget<Request>, settings: AttemptSettings, callback: Callback<Attempt, FailedAttempt>) {
    this.target = target
    this.settings = settings
    this.callback = callback
    this.#startedAtMillis = this.receivedAtMillis = performance.now()
  }

  /** Returns the phase that reads the body of a 2xx response; undefined if its content type is not accepted. */
  protected abstract phaseAfter(head: UpstreamHead): "streaming" | "collecting" | undefined
  /** Handles the next bytes of a stream. Returns false to pause reading from the provider. */
  protected abstract onStreamChunk(chunk: Buffer): boolean
  /** Handles the end of the provider's stream. */
  protected abstract onStreamEnd(): void
  protected abstract onWholeBody(body: Buffer): void
  start(upstreamRequest: UpstreamRequest): void {
    const sent = this.settings.upstreams.send(upstreamRequest, this)
    if (sent._tag === "Left") {
      this.phase = "over"
      this.callback(Exit.fail({ error: sent.left, retryElsewhere: true }))
      return
    }
    this.settings.counters.openExchanges += 1
    this.#exchange = sent.right
    if (this.#verdict === undefined) this.settings.ticker.add(this)
    else this.#close(this.#verdict)
  }

  /** Ends the attempt with the verdict `undecided`, for example because the client disconnected. */
  abort(): void {
    this.finish("undecided")
  }

  onHead(head: UpstreamHead): void {
    this.step(() => this.#headed(head))
  }

  onData(chunk: Buffer): boolean {
    try {
      return this.phase === "streaming" ? this.onStreamChunk(chunk) : this.#gather(chunk)
    } catch (defect) {
      this.#defect(defect)
      return true
    }
  }

  onEnd(): void {
    this.step(() => {
      if (this.phase === "streaming") this.onStreamEnd()
      else if (this.phase === "collecting") this.onWholeBody(this.#body.whole())
      else if (this.phase === "refused") this.#refused()
      else if (this.phase === "waiting") this.broken("ended without a response", true)
    })
  }

  onBroken(reason: string): void {
    this.step(() => {
      if (this.phase === "refused") this.#refused()
      else if (this.phase !== "over") this.cutShort(reason)
    })
  }

  onTick(nowMillis: number): void {
    try {
      this.checkTimeouts(nowMillis)
    } catch (defect) {
      this.#defect(defect)
    }
  }

  protected cutShort(reason: string): void {
    this.broken(reason, this.untouched())
  }

  protected checkTimeouts(nowMillis: number): void {
    const { firstByteMillis, idleMillis, totalMillis } = this.target.candidate.provider.timeouts
    const silentMillis = nowMillis - this.receivedAtMillis
    if (this.phase === "refused") {
      if (silentMillis > Math.min(REFUSAL_MILLIS, idleMillis)) this.#refused()
      return
    }
    // The provider may still bill a request that timed out, so no other route is tried.
    if (nowMillis - this.#startedAtMillis > totalMillis) this.broken(`not done within ${totalMillis} ms`, false)
    else if (this.phase === "waiting" && silentMillis > firstByteMillis) {
      this.broken(`no response within ${firstByteMillis} ms`, false)
    } else if (this.phase !== "waiting" && silentMillis > idleMillis && !this.isPaused()) {
      this.broken(`silent for ${idleMillis} ms`, false)
    }
  }

  /** Returns true while content waits to be written to the client. Silence of the provider is then no timeout. */
  protected isPaused(): boolean {
    return this.target.response.blocked
  }

  /**
   * Returns true while the gateway has received nothing from the provider for which the provider may bill. After a
   * broken connection, another route is then tried, if there is one and no byte of the response was written.
   */
  protected untouched(): boolean {
    return this.phase === "waiting"
  }

  protected broken(reason: string, retryElsewhere: boolean): void {
    this.fail({ error: new UpstreamFailed({ cause: reason }), retryElsewhere }, "failed")
  }

  /** Handles a 2xx response whose body reports an error or cannot be used. */
  protected unusable(error: ResponseFailure): void {
    const failed = error._tag === "UpstreamFailed"
    const retryElsewhere = error._tag === "TechnicalLimit" || (failed && this.untouched())
    this.fail({ error, retryElsewhere }, failed ? "failed" : "served")
  }

  protected fail(failed: FailedAttempt, verdict: Verdict): void {
    this.finish(verdict)
    this.#report(failed.error)
    const { response } = this.target
    if (!response.committed) {
      this.callback(Exit.fail(failed))
      return
    }
    // The amount of delivered content is final only when the socket has accepted the last byte.
    response.whenAccepted(() => this.callback(Exit.fail({ error: failed.error, retryElsewhere: false })))
    response.end(this.errorFrames(failed.error))
  }

  /** Returns the frames that report an error to the client after the status was sent. */
  abstract errorFrames(error: RelayError): string

  /** Ends the attempt, closes the HTTP request to the provider and records the verdict on the provider. */
  protected finish(verdict: Verdict): void {
    if (this.phase === "over") return
    this.phase = "over"
    this.#body.clear()
    this.#memory?.release()
    this.#verdict = verdict
    if (this.#exchange !== undefined) this.#close(verdict)
  }

  protected resume(): void {
    this.receivedAtMillis = performance.now()
    if (this.phase !== "over") this.#exchange?.resume()
  }

  #close(verdict: Verdict): void {
    this.settings.ticker.delete(this)
    this.settings.counters.openExchanges -= 1
    this.#exchange?.close(verdict)
  }

  #headed(head: UpstreamHead): void {
    if (this.phase === "over") return
    this.receivedAtMillis = performance.now()
    this.#status = head.status
    this.#retryAfter = head.retryAfter
    if (head.status < 200 || head.status > 299) {
      this.phase = "refused"
      return
    }
    const phase = this.phaseAfter(head)
    if (phase === undefined) this.broken(`unexpected content-type: ${head.contentType || "none"}`, false)
    else this.phase = phase
  }

  #gather(chunk: Buffer): boolean {
    if (this.phase === "over" || this.phase === "waiting") return true
    if (this.phase === "refused") {
      this.#body.push(chunk)
      if (this.#body.bytes >= REFUSAL_BYTES) this.#refused()
      return true
    }
    this.receivedAtMillis = performance.now()
    const bytes = this.#body.bytes + chunk.length
    if (bytes > this.settings.responseBytes) {
      this.broken(`responded with more than ${this.settings.responseBytes} bytes`, false)
    } else if (this.reserve(bytes)) this.#body.push(chunk)
    return true
  }

  /** Reserves memory for `bytes` bytes in total. If the limit is reached, fails the attempt and returns false. */
  protected reserve(bytes: number): boolean {
    if (bytes <= FREE_BYTES) return true
    this.#memory ??= this.settings.providerMemory.reservationFor(this.target.candidate.provider.name)
    if (this.#memory.reserve(bytes)) return true
    this.broken("the unfinished responses of this provider use too much memory", false)
    return false
  }

  /** Runs the code of a callback. An exception in this code fails only this request and is not rethrown. */
  protected step(step: () => void): void {
    try {
      step()
    } catch (defect) {
      this.#defect(defect)
    }
  }

  #defect(defect: unknown): void {
    this.finish("undecided")
    this.callback(Exit.die(defect))
  }

  #refused(): void {
    const { protocol, request, candidate } = this.target
    const body = this.#body.whole().subarray(0, REFUSAL_BYTES)
    const names = this.settings.secrets.namesFor(request.model, candidate)
    const error = protocol.refusal(this.#status, this.#retryAfter, body, names)
    this.fail(refusedAttempt(error), verdictOf(this.#status, error))
  }

  #report(error: AttemptError): void {
    if (error._tag !== "UpstreamFailed") return
    const { requestId, candidate } = this.target
    this.settings.warn("upstream request failed", {
      request_id: requestId,
      provider: candidate.provider.name,
      upstream_model: candidate.route.upstreamModel,
      status: this.#status === 0 ? undefined : this.#status,
      cause: error.cause
    })
  }
}
