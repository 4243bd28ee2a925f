/**
 * The response to one relayed request: a whole answer, a refusal, or an event stream written frame by frame.
 *
 * Content counts as delivered when the socket took the write that carried it. The chunk framing of streams is
 * written here: Node's own makes four writes of each.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { DeliveredText } from "@tollgate/application/inference/DeliveredText"
import type { CommonHeaders } from "../../http/CommonHeaders.ts"
import type { WireErrorBody } from "../../wire/InferenceErrors.ts"
import { DeliveryMarks } from "./DeliveryMarks.ts"
import type { RelayCounters } from "./RelayMetrics.ts"
import type { Sweep, Swept } from "./Ticker.ts"

export interface ClientResponseSettings {
  readonly headers: CommonHeaders
  readonly counters: RelayCounters
  readonly sweep: Sweep
  /** A client that takes nothing for so long has left. */
  readonly writeStallMillis: number
  /** From now on connections end with their response. */
  readonly draining: () => boolean
}

const EVENT_STREAM = [
  "content-type",
  "text/event-stream; charset=utf-8",
  "cache-control",
  "no-cache, no-transform",
  "x-accel-buffering",
  "no"
]
const JSON_ANSWER = ["content-type", "application/json", "cache-control", "no-store", "content-length"]
const LAST_CHUNK = "0\r\n\r\n"
/** A refused body of at most this many bytes is read and dropped, so that the connection can be used again. */
const DROPPED_BODY_BYTES = 64 * 1024
/** How long a client that is still uploading has to notice that it was refused. */
const LINGER_MILLIS = 5_000

export class ClientResponse implements Swept {
  place = -1
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #requestId: string
  readonly #settings: ClientResponseSettings
  #text: DeliveredText | undefined
  #marks: DeliveryMarks | undefined
  #framed = false
  #flowing: (() => void) | undefined
  #lingersUntilMillis = 0

  /** The status is on its way. */
  committed = false
  /** Everything there is to write was written. */
  ended = false
  /** The client closed the connection before it took everything, or was cut off. */
  gone = false
  /** More was written than the socket takes; nothing more should be until it flows again. */
  blocked = false
  status = 0
  wroteAtMillis: number
  /** Called when the socket took an ended stream to its last byte. */
  onTaken: (() => void) | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    settings: ClientResponseSettings,
    acceptedAtMillis: number
  ) {
    this.#request = request
    this.#response = response
    this.#requestId = requestId
    this.#settings = settings
    this.wroteAtMillis = acceptedAtMillis
  }

  /** The stream that may follow delivers this text; `flowing` is called when a blocked one may go on. */
  streams(text: DeliveredText, flowing: () => void): void {
    this.#text = text
    this.#flowing = flowing
  }

  /** Writes whole frames, after the head of the stream where they are the first. False asks to pause. */
  write(frames: string): boolean {
    return this.ended || this.gone || this.#send(frames, "")
  }

  /** Ends the stream, after these frames. */
  end(frames: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    // Not left to `end`: its callback does not tell a socket that took the last write from one that was destroyed.
    this.#send(frames, LAST_CHUNK)
    this.#response.end()
    this.#expectTaking()
  }

  /** The whole answer. */
  answer(body: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    const bytes = Buffer.byteLength(body)
    this.#settings.counters.answerBytes += bytes
    this.#head(200, [...JSON_ANSWER, String(bytes)])
    this.#response.end(body)
    this.#expectTaking()
  }

  /** An error, before anything else was written. */
  refuse({ status, headers, body }: WireErrorBody): void {
    if (this.committed || this.gone) return
    this.ended = true
    const own = [...JSON_ANSWER, String(Buffer.byteLength(body)), ...Object.entries(headers).flat()]
    if (this.#canDropBody()) {
      this.#head(status, own)
      this.#response.end(body)
    } else {
      this.#linger(status, own, body)
    }
  }

  /** To be called when the connection is closed, or done with this response. */
  close(): void {
    if (this.#marks !== undefined) this.#settings.counters.openStreams -= 1
    this.gone ||= !this.ended || this.#marks?.isEmpty === false
    this.#settings.sweep.delete(this)
  }

  sweep(nowMillis: number): void {
    if (nowMillis >= this.#lingersUntilMillis) this.#response.destroy()
  }

  #head(status: number, own: ReadonlyArray<string>): void {
    this.committed = true
    this.status = status
    if (this.#settings.draining()) this.#response.shouldKeepAlive = false
    this.#response.writeHead(status, this.#settings.headers.with(this.#requestId, own))
  }

  #beginStream(): DeliveryMarks {
    this.#settings.counters.openStreams += 1
    this.#head(200, EVENT_STREAM)
    this.#framed = this.#response.chunkedEncoding
    this.#response.chunkedEncoding = false
    return new DeliveryMarks()
  }

  #send(frames: string, lastChunk: string): boolean {
    this.#marks ??= this.#beginStream()
    this.#marks.push(this.#text?.sentCharacters ?? 0, this.#text?.sentDeltas ?? 0)
    this.wroteAtMillis = performance.now()
    const bytes = Buffer.byteLength(frames)
    this.#settings.counters.answerBytes += bytes
    const chunk = this.#framed ? (bytes === 0 ? "" : `${bytes.toString(16)}\r\n${frames}\r\n`) + lastChunk : frames
    // Text of one byte a character is written faster when the socket need not look for longer ones.
    const flowing = this.#response.write(chunk, bytes === frames.length ? "latin1" : "utf8", this.#taken)
    if (!flowing && !this.blocked) this.#block()
    return flowing
  }

  /** One for all writes of a stream: they are taken in the order they were written. */
  readonly #taken = (error?: Error | null): void => {
    // A write that was under way when the connection broke is reported like one that was taken.
    if (error || this.#request.socket.destroyed || this.#marks?.shift() !== true) return
    this.#text?.markDelivered(this.#marks.characters, this.#marks.deltas)
    if (this.ended && this.#marks.isEmpty) this.onTaken?.()
  }

  #block(): void {
    this.blocked = true
    this.#expectTaking()
    this.#response.once("drain", () => {
      this.blocked = false
      this.#response.socket?.setTimeout(0)
      this.#flowing?.()
    })
  }

  /** Node closes a connection that is silent for so long; it sees the bytes go even within one large write. */
  #expectTaking(): void {
    const { socket } = this.#response
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#settings.writeStallMillis)
  }

  #canDropBody(): boolean {
    if (this.#request.complete) return true
    const { "content-length": length, "transfer-encoding": coding, expect } = this.#request.headers
    return coding === undefined && expect === undefined && Number(length ?? 0) <= DROPPED_BODY_BYTES
  }

  /**
   * Answers a client that may still be uploading. To close at once would reset the connection, and the client would
   * see the reset instead of the answer; so it has a moment to read the answer and stop.
   */
  #linger(status: number, own: ReadonlyArray<string>, body: string): void {
    this.#response.shouldKeepAlive = false
    this.#head(status, own)
    this.#response.write(body)
    this.#lingersUntilMillis = performance.now() + LINGER_MILLIS
    this.#settings.sweep.add(this)
    this.#request.once("end", () => this.#response.end())
    this.#request.resume()
  }
}
