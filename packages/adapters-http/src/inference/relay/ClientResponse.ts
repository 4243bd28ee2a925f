/**
 * The response to one relayed request: a whole response, a refusal, or an event stream written frame by frame.
 *
 * Content counts as delivered when the socket has taken the write that carried it. The chunk framing of streams is
 * written here: Node's own needs four writes for each chunk.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { DeliveredText } from "@tollgate/application/inference/DeliveredText"
import type { CommonHeaders } from "../../http/CommonHeaders.ts"
import { writeRefusal } from "../../http/Refusal.ts"
import type { WireErrorBody } from "../../wire/InferenceErrors.ts"
import { DeliveryMarks } from "./DeliveryMarks.ts"
import type { RelayCounters } from "./RelayMetrics.ts"

export interface ClientResponseSettings {
  readonly headers: CommonHeaders
  readonly counters: RelayCounters
  /** A client that takes nothing for this long is disconnected. */
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
const JSON_RESPONSE = ["content-type", "application/json", "cache-control", "no-store", "content-length"]
const LAST_CHUNK = "0\r\n\r\n"
/** A refused body of at most this many bytes is discarded, so that the connection can be used again. */
const DISCARDED_BODY_BYTES = 64 * 1024

export class ClientResponse {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #requestId: string
  readonly #settings: ClientResponseSettings
  #text: DeliveredText | undefined
  #marks: DeliveryMarks | undefined
  #framed = false
  #onUnblocked: (() => void) | undefined

  /** The status is on its way. */
  committed = false
  /** Everything was written. */
  ended = false
  /** The client closed the connection before it took everything, or was cut off. */
  gone = false
  /** The socket takes no more at the moment; nothing should be written until it drains. */
  blocked = false
  status = 0
  wroteAtMillis: number
  /** Called when the socket has taken the last byte of an ended stream. */
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

  /** The text that the stream delivers; `onUnblocked` is called when a blocked stream may continue. */
  beginsWith(text: DeliveredText, onUnblocked: () => void): void {
    this.#text = text
    this.#onUnblocked = onUnblocked
  }

  /** Writes whole frames, before the first ones the head of the stream. False asks to pause. */
  write(frames: string): boolean {
    return this.ended || this.gone || this.#send(frames, "")
  }

  /** Ends the stream, after these frames. */
  end(frames: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    // Not by `end`: its callback does not distinguish a socket that took the last write from a destroyed one.
    this.#send(frames, LAST_CHUNK)
    this.#response.end()
    this.#expectTaking()
  }

  /** Writes a whole response. */
  writeWhole(body: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    const bytes = Buffer.byteLength(body)
    this.#settings.counters.responseBytes += bytes
    this.#head(200, [...JSON_RESPONSE, String(bytes)])
    this.#response.end(body)
    this.#expectTaking()
  }

  /** An error, before anything else was written. */
  refuse(refusal: WireErrorBody): void {
    if (this.committed || this.gone) return
    this.ended = true
    writeRefusal(this.#request, this.#response, refusal, {
      writeHead: (own) => this.#head(refusal.status, own),
      discardedBytes: DISCARDED_BODY_BYTES
    })
  }

  /** To be called when the connection is closed, or has finished this response. */
  close(): void {
    if (this.#marks !== undefined) this.#settings.counters.openStreams -= 1
    this.gone ||= !this.ended || this.#marks?.isEmpty === false
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
    this.#settings.counters.responseBytes += bytes
    const chunk = this.#framed ? (bytes === 0 ? "" : `${bytes.toString(16)}\r\n${frames}\r\n`) + lastChunk : frames
    // Text of one byte a character is written faster when the socket does not search for longer characters.
    const hasRoom = this.#response.write(chunk, bytes === frames.length ? "latin1" : "utf8", this.#taken)
    if (!hasRoom && !this.blocked) this.#block()
    return hasRoom
  }

  /** One for all writes of a stream: they are taken in the order they were written. */
  readonly #taken = (error?: Error | null): void => {
    // Node reports a write that was under way when the connection broke like one that the socket took.
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
      this.#onUnblocked?.()
    })
  }

  /** Node closes a connection without progress for this long; it sees the progress within one large write. */
  #expectTaking(): void {
    const { socket } = this.#response
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#settings.writeStallMillis)
  }
}
