/**
 * An attempt whose answer is a stream of events, translated and written as it comes: one write for each chunk of
 * the supplier, counted as delivered when the socket took it.
 *
 * The status is sent with the first frame, or with the first keepalive; until then another route can still answer.
 */
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { Attempt, AttemptFailed, InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { UpstreamHead } from "@tollgate/application/inference/Upstreams"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import * as Exit from "effect/Exit"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { SseDecoder, type SseEvent } from "../../wire/SseDecoder.ts"
import { usageIn } from "./FailedUsage.ts"
import type { ResponseContext, StreamProtocol, StreamTranslator, Translation } from "./RelayProtocol.ts"
import { type Asked, type AttemptSettings, RouteAttempt } from "./RouteAttempt.ts"

const KEEPALIVE = ": keepalive\n\n"
/** A supplier that said its last word gets so long to close, so that its connection can be used again. */
const CLOSING_MILLIS = 1_000
const JSON_TYPE = /^\s*application\/(json|[\w.+-]+\+json)\b/i

const toTheEnd: Exit.Exit<Attempt> = Exit.succeed({ _tag: "Streamed" })

export class StreamAttempt<Request extends InferenceRequest> extends RouteAttempt<Request> {
  readonly #delivery: Delivery
  readonly #context: ResponseContext
  readonly #stream: StreamProtocol<Request>
  readonly #translator: StreamTranslator
  readonly #decoder = new SseDecoder()
  /** Something came that the supplier could bill us for. */
  #touched = false
  /** The client has its whole stream; only the supplier has not closed yet. */
  #completedAtMillis: number | undefined

  constructor(
    asked: Asked<Request>,
    stream: StreamProtocol<Request>,
    settings: AttemptSettings,
    answer: Callback<Attempt, AttemptFailed>,
    context: ResponseContext,
    delivery: Delivery
  ) {
    super(asked, settings, answer)
    this.#delivery = delivery
    this.#context = context
    this.#stream = stream
    this.#translator = stream.translator(asked.request, context)
    asked.response.streams(delivery.text, () => this.flow())
  }

  errorFrames(error: RelayError): string {
    const { requestId } = this.asked
    return this.#translator.fail?.(error, requestId) ?? this.#stream.errorFrames(error, requestId)
  }

  protected reading(head: UpstreamHead): "streaming" | "collecting" {
    // Suppliers call an event stream anything; what is none has no events in it and fails as an empty one.
    return JSON_TYPE.test(head.contentType) ? "collecting" : "streaming"
  }

  protected streamed(chunk: Buffer): boolean {
    if (this.#completedAtMillis !== undefined) return true
    const decoded = this.#decoder.push(chunk)
    if (decoded._tag === "Right") return this.#relay(decoded.right)
    this.fail({ error: decoded.left, elsewhere: false }, "failed")
    return true
  }

  protected streamEnded(): void {
    if (this.#completedAtMillis === undefined) this.#relay(this.#decoder.end())
    if (this.#completedAtMillis === undefined && this.phase !== "over") this.#pass("", this.#translator.close())
    if (this.#completedAtMillis !== undefined) this.finish("served")
    else if (this.phase !== "over") this.broken("the stream ended early", !this.#touched)
  }

  protected collected(body: Buffer): void {
    const told = this.#stream.fromWholeResponse(this.asked.request, this.#context, body)
    if (told._tag === "Left") {
      this.#delivery.report(usageIn(this.asked.protocol, body))
      this.misanswered(told.left)
    } else this.#pass("", { ...told.right, end: told.right.end ?? "complete" })
    if (this.#completedAtMillis !== undefined) this.finish("served")
  }

  protected override cutShort(reason: string): void {
    if (this.#completedAtMillis === undefined) super.cutShort(reason)
    else this.finish("served")
  }

  protected override watch(nowMillis: number): void {
    if (this.#completedAtMillis !== undefined) {
      if (nowMillis - this.#completedAtMillis > CLOSING_MILLIS) this.finish("served")
      return
    }
    super.watch(nowMillis)
    const { response } = this.asked
    const due = nowMillis - response.wroteAtMillis >= this.settings.keepaliveMillis
    if (due && this.phase !== "over" && !response.blocked) response.write(KEEPALIVE)
  }

  protected override untouched(): boolean {
    return !this.#touched && this.phase !== "collecting"
  }

  /** False asks to pause. */
  #relay(events: ReadonlyArray<SseEvent>): boolean {
    if (events.length > 0) this.heardAtMillis = performance.now()
    let frames = ""
    for (const event of events) {
      const translation = this.#translator.translate(event)
      if (translation.end !== undefined) return this.#pass(frames, translation)
      this.#take(translation)
      frames += translation.frames
    }
    return frames === "" ? !this.asked.response.blocked : this.asked.response.write(frames)
  }

  /** Passes on the frames before this translation and its own, and ends if it is the last. */
  #pass(framesBefore: string, translation: Translation): boolean {
    const { response } = this.asked
    this.#take(translation)
    const frames = framesBefore + translation.frames
    if (translation.end === "complete" && this.#touched) {
      this.#completedAtMillis = performance.now()
      response.onTaken = () => this.answer(toTheEnd)
      response.end(frames)
    } else {
      if (frames !== "") response.write(frames)
      if (translation.end === "complete") this.broken("the stream ended without an answer", true)
      else if (translation.end !== undefined) this.misanswered(translation.end)
    }
    return true
  }

  #take({ content, frames, turns, usage }: Translation): void {
    if (frames !== "" || usage !== undefined) this.#touched = true
    this.#delivery.send(content, turns)
    if (usage !== undefined) this.#delivery.report(usage)
  }
}
