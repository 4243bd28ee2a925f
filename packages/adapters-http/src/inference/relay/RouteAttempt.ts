/**
 * One try at one route: sends the request, waits for the head, and tells apart an answer, a refusal and a failure.
 * What an answer is, is for its two kinds to say: `StreamAttempt` and `AnswerAttempt`.
 *
 *     waiting ──2xx──▶ streaming | collecting ──▶ over
 *        │                         └─ body of an answer
 *        └─────else──▶ refused ─ body of a refusal ─▶ over
 */
import type {
  Attempt,
  AttemptError,
  AttemptFailed,
  InferenceRequest
} from "@tollgate/application/inference/RelayConnection"
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
import type { RelayError } from "../../wire/InferenceErrors.ts"
import type { ClientResponse } from "./ClientResponse.ts"
import { providerNames } from "./ProviderNames.ts"
import type { RelayCounters } from "./RelayMetrics.ts"
import type { RelayProtocol, ResponseFailure } from "./RelayProtocol.ts"
import type { Sweep, Swept } from "./Ticker.ts"
import { refused, verdictOf } from "./UpstreamVerdict.ts"

export interface AttemptSettings {
  readonly upstreams: Context.Tag.Service<Upstreams>
  readonly sweep: Sweep
  readonly counters: RelayCounters
  readonly keepaliveMillis: number
  /** A whole answer may have so many bytes. */
  readonly answerBytes: number
  /** For what only operators may know. */
  readonly warn: (message: string, details: Readonly<Record<string, unknown>>) => void
}

export interface Asked<Request extends InferenceRequest> {
  readonly requestId: string
  readonly protocol: RelayProtocol<Request>
  readonly request: Request
  readonly candidate: Candidate
  readonly response: ClientResponse
}

const REFUSAL_BYTES = 64 * 1024
/** The status already says what matters; a refusal whose text does not come is taken without it. */
const REFUSAL_MILLIS = 5_000

export abstract class RouteAttempt<Request extends InferenceRequest> implements UpstreamEvents, Swept {
  place = -1
  protected readonly asked: Asked<Request>
  protected readonly settings: AttemptSettings
  protected readonly answer: Callback<Attempt, AttemptFailed>
  protected phase: "waiting" | "streaming" | "collecting" | "refused" | "over" = "waiting"
  /** When the supplier last said something. */
  protected heardAtMillis: number
  /** The whole answer is in the hands of the use case. */
  answered = false
  readonly #startedAtMillis: number
  #exchange: UpstreamExchange | undefined
  #verdict: Verdict | undefined
  #status = 0
  #retryAfter: string | undefined
  #chunks: Array<Buffer> = []
  #bytes = 0

  constructor(asked: Asked<Request>, settings: AttemptSettings, answer: Callback<Attempt, AttemptFailed>) {
    this.asked = asked
    this.settings = settings
    this.answer = answer
    this.#startedAtMillis = this.heardAtMillis = performance.now()
  }

  /** How the body that follows a good head is to be read; undefined when it cannot be an answer. */
  protected abstract reading(head: UpstreamHead): "streaming" | "collecting" | undefined
  /** Bytes of a stream. False asks to pause. */
  protected abstract streamed(chunk: Buffer): boolean
  /** The stream is over without an event that said so. */
  protected abstract streamEnded(): void
  protected abstract collected(body: Buffer): void
  start(upstreamRequest: UpstreamRequest): void {
    const sent = this.settings.upstreams.send(upstreamRequest, this)
    if (sent._tag === "Left") {
      this.phase = "over"
      this.answer(Exit.fail({ error: sent.left, elsewhere: true }))
      return
    }
    this.settings.counters.openExchanges += 1
    this.#exchange = sent.right
    if (this.#verdict === undefined) this.settings.sweep.add(this)
    else this.#close(this.#verdict)
  }

  /** The client left: nothing more is wanted, and nothing is known of the supplier. */
  abort(): void {
    this.finish("undecided")
  }

  onHead(head: UpstreamHead): void {
    this.#guarded(() => this.#headed(head))
  }

  onData(chunk: Buffer): boolean {
    try {
      return this.phase === "streaming" ? this.streamed(chunk) : this.#gather(chunk)
    } catch (defect) {
      this.#defect(defect)
      return true
    }
  }

  onEnd(): void {
    this.#guarded(() => {
      if (this.phase === "streaming") this.streamEnded()
      else if (this.phase === "collecting") this.collected(this.#body())
      else if (this.phase === "refused") this.#refused()
      else if (this.phase === "waiting") this.broken("ended without an answer", true)
    })
  }

  onBroken(reason: string): void {
    this.#guarded(() => {
      if (this.phase === "refused") this.#refused()
      else if (this.phase !== "over") this.cutShort(reason)
    })
  }

  sweep(nowMillis: number): void {
    try {
      this.watch(nowMillis)
    } catch (defect) {
      this.#defect(defect)
    }
  }

  protected cutShort(reason: string): void {
    this.broken(reason, this.untouched())
  }

  protected watch(nowMillis: number): void {
    const { firstByteMillis, idleMillis, totalMillis } = this.asked.candidate.provider.timeouts
    const silentMillis = nowMillis - this.heardAtMillis
    if (this.phase === "refused") {
      if (silentMillis > Math.min(REFUSAL_MILLIS, idleMillis)) this.#refused()
      return
    }
    // What was asked and not answered in time may be billed to us, so no other route is asked as well.
    if (nowMillis - this.#startedAtMillis > totalMillis) this.broken(`not done within ${totalMillis} ms`, false)
    else if (this.phase === "waiting" && silentMillis > firstByteMillis) {
      this.broken(`no answer within ${firstByteMillis} ms`, false)
    } else if (this.phase !== "waiting" && silentMillis > idleMillis && !this.asked.response.blocked) {
      this.broken(`silent for ${idleMillis} ms`, false)
    }
  }

  /** Whether nothing came that the supplier could bill us for. */
  protected untouched(): boolean {
    return this.phase === "waiting"
  }

  protected broken(reason: string, elsewhere: boolean): void {
    this.fail({ error: new UpstreamFailed({ cause: reason }), elsewhere }, "failed")
  }

  /** A good head, and then something that is no answer: a failure, or a refusal told late. */
  protected misanswered(error: ResponseFailure): void {
    const failed = error._tag === "UpstreamFailed"
    const elsewhere = error._tag === "TechnicalLimit" || (failed && this.untouched())
    this.fail({ error, elsewhere }, failed ? "failed" : "served")
  }

  protected fail(failed: AttemptFailed, verdict: Verdict): void {
    this.finish(verdict)
    this.#report(failed.error)
    const { response } = this.asked
    if (!response.committed) {
      this.answer(Exit.fail(failed))
      return
    }
    // What was delivered before the failure is only certain when the socket took all of it.
    response.onTaken = () => this.answer(Exit.fail({ error: failed.error, elsewhere: false }))
    response.end(this.errorFrames(failed.error))
  }

  /** What ends a response whose status is sent. */
  abstract errorFrames(error: RelayError): string

  /** The exchange with the supplier is over, if it is not yet, and this is what it showed. */
  protected finish(verdict: Verdict): void {
    if (this.phase === "over") return
    this.phase = "over"
    this.#chunks = []
    this.#verdict = verdict
    if (this.#exchange !== undefined) this.#close(verdict)
  }

  protected flow(): void {
    this.heardAtMillis = performance.now()
    if (this.phase !== "over") this.#exchange?.resume()
  }

  #close(verdict: Verdict): void {
    this.settings.sweep.delete(this)
    this.settings.counters.openExchanges -= 1
    this.#exchange?.close(verdict)
  }

  #headed(head: UpstreamHead): void {
    if (this.phase === "over") return
    this.heardAtMillis = performance.now()
    this.#status = head.status
    this.#retryAfter = head.retryAfter
    if (head.status < 200 || head.status > 299) {
      this.phase = "refused"
      return
    }
    const reading = this.reading(head)
    if (reading === undefined) this.broken(`answered with ${head.contentType || "no content-type"}`, false)
    else this.phase = reading
  }

  #gather(chunk: Buffer): boolean {
    if (this.phase === "over" || this.phase === "waiting") return true
    this.heardAtMillis = performance.now()
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (this.phase === "refused" && this.#bytes >= REFUSAL_BYTES) this.#refused()
    if (this.phase === "collecting" && this.#bytes > this.settings.answerBytes) {
      this.broken(`answered with more than ${this.settings.answerBytes} bytes`, false)
    }
    return true
  }

  /** A fault of ours in a callback is this request's alone: whoever called must not suffer for it. */
  #guarded(step: () => void): void {
    try {
      step()
    } catch (defect) {
      this.#defect(defect)
    }
  }

  #defect(defect: unknown): void {
    this.finish("undecided")
    this.answer(Exit.die(defect))
  }

  #refused(): void {
    const { protocol, request, candidate } = this.asked
    const body = this.#body().subarray(0, REFUSAL_BYTES)
    const error = protocol.refusal(this.#status, this.#retryAfter, body, providerNames(request.model, candidate))
    this.fail(refused(error), verdictOf(this.#status, error))
  }

  #body(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#bytes)
  }

  #report(error: AttemptError): void {
    if (error._tag !== "UpstreamFailed") return
    const { requestId, candidate } = this.asked
    this.settings.warn("a supplier failed", {
      request_id: requestId,
      provider: candidate.provider.name,
      upstream_model: candidate.route.upstreamModel,
      status: this.#status === 0 ? undefined : this.#status,
      cause: error.cause
    })
  }
}
