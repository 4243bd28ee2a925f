/**
 * `StreamAttempt` reads an event stream from a provider, and translates and writes each event as it arrives. Each chunk
 * from the provider leads to at most one write, unless a part of the chunk is held back, or the chunk ends the stream
 * with an error. Content counts as delivered when the client's socket has accepted the write that contains the content.
 * If the provider responds with JSON, the whole response is converted to the frames of a stream.
 *
 * The status is sent with the first frame or the first keepalive. After that, no other route is tried.
 *
 * Frames that the hold does not cover yet are held back in order. Meanwhile reading from the provider continues until
 * the size of the waiting frames and events reaches a limit. No byte is written before the hold is durable.
 */
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { Attempt, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { UpstreamHead } from "@tollgate/application/inference/Upstreams"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import { withoutByteOrderMark } from "../../wire/ByteOrderMark.ts"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { MAX_EVENT_BYTES, SseDecoder, type SseEvent } from "../../wire/SseDecoder.ts"
import type { ResponseContext, StreamProtocol, StreamTranslator, Translation } from "./RelayProtocol.ts"
import { type AttemptSettings, type AttemptTarget, RouteAttempt } from "./RouteAttempt.ts"
import { usageIn } from "./UpstreamFailure.ts"

const KEEPALIVE = ": keepalive\n\n"
/**
 * The time that a provider has to close a complete stream. After this time, the gateway closes the connection instead
 * of reusing it.
 */
const CLOSING_MILLIS = 1_000
/**
 * The maximum number of bytes (such as comments and pings) that a provider may send between two frames for the client.
 */
const MAX_UNWRITTEN_BYTES = 4 * MAX_EVENT_BYTES
/**
 * The size in characters of the waiting frames and events at which reading from the provider is paused. Events that are
 * not read yet are lost if the provider resets the connection.
 */
const MAX_WAITING_CHARACTERS = 32 * 1024
/** The approximate memory of an event besides its data, in characters. */
const EVENT_CHARACTERS = 64
const JSON_TYPE = /^\s*application\/(json|[\w.+-]+\+json)\b/i

const STREAMED: Exit.Exit<Attempt> = Exit.succeed({ _tag: "Streamed" })

export class StreamAttempt<Request extends InferenceRequest> extends RouteAttempt<Request> {
  readonly #delivery: Delivery
  readonly #context: ResponseContext
  readonly #stream: StreamProtocol<Request>
  readonly #translator: StreamTranslator
  readonly #decoder = new SseDecoder()
  /** True after something has arrived that the provider could bill. */
  #touched = false
  /**
   * The `performance.now()` time at which the client's stream was complete. The provider may close its stream later.
   */
  #completedAtMillis: number | undefined
  /** The translation that must not be written yet; undefined if nothing is held back. */
  #heldBack: Translation | undefined
  /** The events that follow the translation that is held back. */
  #waitingEvents: Array<SseEvent> = []
  /** The size of the translation that is held back and of the waiting events. */
  #waitingCharacters = 0
  /** True if no more data of the provider will arrive after the translation that is held back. */
  #endWaits = false
  /** The reason why the connection broke while a translation was held back; undefined if it did not break. */
  #brokenReason: string | undefined
  #heldBackAtMillis = 0
  /** The number of bytes that have arrived since the last frame for the client. */
  #unwrittenBytes = 0

  constructor(
    target: AttemptTarget<Request>,
    stream: StreamProtocol<Request>,
    settings: AttemptSettings,
    callback: Callback<Attempt, FailedAttempt>,
    context: ResponseContext,
    delivery: Delivery
  ) {
    super(target, settings, callback)
    this.#delivery = delivery
    this.#context = context
    this.#stream = stream
    this.#translator = stream.translator(target.request, context)
    target.response.setDelivery(delivery.text, () => this.#readOn())
    const onChange = () => this.step(() => this.#allowanceChanged())
    if (delivery.allowance !== undefined) delivery.allowance.onChange = onChange
  }

  errorFrames(error: RelayError): string {
    const { requestId } = this.target
    const isLastUnsent = this.#heldBack !== undefined
    return this.#translator.fail?.(error, requestId, isLastUnsent) ?? this.#stream.errorFrames(error, requestId)
  }

  protected phaseAfter(head: UpstreamHead): "streaming" | "collecting" {
    // Some providers declare a wrong content type for event streams, so each type except JSON is read as a stream. A
    // body without events fails as an empty stream.
    return JSON_TYPE.test(head.contentType) ? "collecting" : "streaming"
  }

  protected onStreamChunk(chunk: Buffer): boolean {
    if (this.#completedAtMillis !== undefined) return true
    this.#unwrittenBytes += chunk.length
    const decoded = this.#decoder.push(chunk)
    if (decoded._tag === "Right") {
      if (!this.reserve(this.#decoder.pendingBytes)) return true
      if (this.#unwrittenBytes <= MAX_UNWRITTEN_BYTES) return this.#relay(decoded.right)
      this.broken(`sent ${MAX_UNWRITTEN_BYTES} bytes without an event for the client`, false)
      return true
    }
    this.fail({ error: decoded.left, retryElsewhere: false }, "failed")
    return true
  }

  protected onStreamEnd(): void {
    if (this.#completedAtMillis === undefined) this.#relay(this.#decoder.end())
    if (this.#heldBack === undefined) this.#streamEnded()
    else this.#endWaits = true
  }

  #streamEnded(): void {
    if (this.#brokenReason !== undefined) {
      if (this.phase !== "over") this.cutShort(this.#brokenReason)
      return
    }
    if (this.#completedAtMillis === undefined && this.phase !== "over") this.#pass("", this.#translator.close())
    if (this.#completedAtMillis !== undefined) this.finish("served")
    else if (this.phase !== "over") this.broken("the stream ended early", !this.#touched)
  }

  protected onWholeBody(given: Buffer): void {
    const body = withoutByteOrderMark(given)
    const translated = this.#stream.fromWholeResponse(this.target.request, this.#context, body)
    if (translated._tag === "Left") {
      this.#delivery.recordReported(usageIn(this.target.protocol, body))
      this.unusable(translated.left)
      return
    }
    const translation: Translation = { ...translated.right, end: translated.right.end ?? "complete" }
    this.#endWaits = true
    if (this.#permits(translation)) this.#passLast(translation)
    else this.#holdBack(translation, [])
  }

  #passLast(translation: Translation): void {
    this.#pass("", translation)
    if (this.#completedAtMillis !== undefined) this.finish("served")
  }

  protected override cutShort(reason: string): void {
    if (this.#completedAtMillis !== undefined) this.finish("served")
    else if (this.#heldBack === undefined) super.cutShort(reason)
    else {
      // The events that wait have arrived, and one of them may complete the stream.
      this.#endWaits = true
      this.#brokenReason = reason
    }
  }

  protected override checkTimeouts(nowMillis: number): void {
    if (this.#completedAtMillis !== undefined) {
      if (nowMillis - this.#completedAtMillis > CLOSING_MILLIS) this.finish("served")
      return
    }
    super.checkTimeouts(nowMillis)
    if (this.phase === "over") return
    const { response } = this.target
    const { allowance } = this.#delivery
    if (this.#heldBack !== undefined && nowMillis - this.#heldBackAtMillis > this.settings.writeStallMillis) {
      this.fail({ error: new Overloaded({ retryAfterSeconds: 1 }), retryElsewhere: false }, "undecided")
      return
    }
    allowance?.retry(nowMillis)
    const due = nowMillis - response.wroteAtMillis >= this.settings.keepaliveMillis
    if (due && !response.blocked && allowance?.isOpen !== false) response.write(KEEPALIVE)
  }

  protected override isPaused(): boolean {
    return super.isPaused() || this.#heldBack !== undefined
  }

  protected override untouched(): boolean {
    return !this.#touched && this.phase !== "collecting"
  }

  /** Translates and writes events. Returns false to pause reading from the provider. */
  #relay(events: ReadonlyArray<SseEvent>): boolean {
    if (events.length > 0) this.receivedAtMillis = performance.now()
    if (this.#heldBack !== undefined) return this.#addWaiting(events)
    let frames = ""
    for (const [i, event] of events.entries()) {
      const translation = this.#translator.translate(event)
      if (!this.#permits(translation)) {
        if (frames !== "") this.target.response.write(frames)
        this.#holdBack(translation, events.slice(i + 1))
        return this.#heldBack === undefined || this.#waitingCharacters < MAX_WAITING_CHARACTERS
      }
      if (translation.end !== undefined) return this.#pass(frames, translation)
      this.#take(translation)
      frames += translation.frames
    }
    return frames === "" ? !this.target.response.blocked : this.target.response.write(frames)
  }

  #permits({ content, frames }: Translation): boolean {
    const { allowance } = this.#delivery
    return allowance === undefined || (frames === "" && content === "") || allowance.permits(content)
  }

  #holdBack(translation: Translation, events: ReadonlyArray<SseEvent>): void {
    this.#touched = true
    this.#heldBack = translation
    this.#heldBackAtMillis = performance.now()
    this.#waitingCharacters = translation.frames.length
    this.#addWaiting(events)
    // The last extension may have been refused while nothing was held back. The allowance then does not call `onChange`
    // again.
    if (this.#delivery.allowance?.refusal !== undefined) this.#allowanceChanged()
  }

  /** Adds events that wait for the held-back translation. Returns false to pause reading from the provider. */
  #addWaiting(events: ReadonlyArray<SseEvent>): boolean {
    for (const event of events) {
      this.#waitingEvents.push(event)
      this.#waitingCharacters += event.data.length + EVENT_CHARACTERS
    }
    return this.#waitingCharacters < MAX_WAITING_CHARACTERS
  }

  /** Writes the held-back translations that the hold covers, or ends the stream if the hold cannot grow. */
  #allowanceChanged(): void {
    const translation = this.#heldBack
    if (this.phase === "over" || translation === undefined) return
    const refusal = this.#delivery.allowance?.refusal
    if (refusal !== undefined) {
      this.fail({ error: refusal, retryElsewhere: false }, "undecided")
      return
    }
    if (!this.#permits(translation)) return
    const events = this.#waitingEvents
    this.#heldBack = undefined
    this.#waitingEvents = []
    this.#waitingCharacters = 0
    if (translation.end !== undefined) {
      this.#passLast(translation)
      return
    }
    this.#take(translation)
    if (translation.frames !== "") this.target.response.write(translation.frames)
    this.#relay(events)
    if (this.#heldBack === undefined && this.#endWaits) this.#streamEnded()
    else this.#readOn()
  }

  /** Reads from the provider again, unless the client's socket is full or a translation is held back. */
  #readOn(): void {
    if (!this.isPaused()) this.resume()
  }

  /** Writes `framesBefore` and the frames of the translation. Ends the stream if `translation.end` is defined. */
  #pass(framesBefore: string, translation: Translation): boolean {
    const { response } = this.target
    this.#take(translation)
    const frames = framesBefore + translation.frames
    if (translation.end === "complete" && this.#touched) {
      this.#completedAtMillis = performance.now()
      response.whenAccepted(() => this.callback(STREAMED))
      response.end(frames)
    } else {
      if (frames !== "") response.write(frames)
      if (translation.end === "complete") this.broken("the stream ended without content", true)
      else if (translation.end !== undefined) this.unusable(translation.end)
    }
    return true
  }

  #take({ content, frames, switches, usage }: Translation): void {
    if (frames !== "" || usage !== undefined) this.#touched = true
    if (frames !== "") this.#unwrittenBytes = 0
    this.#delivery.recordSent(content, switches)
    if (usage !== undefined) this.#delivery.recordReported(usage)
  }
}
