/**
 * The response to one relayed request: a whole response, a refusal, or an event stream written frame by frame.
 *
 * Content counts as delivered when the socket has taken the write that contains it. The chunk framing of streams is
 * written here, because Node's own framing needs four writes per chunk.
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
  /** The time in milliseconds after which a client that takes no byte is disconnected. */
  readonly writeStallMillis: number
  /** Returns true while the server drains: each connection is then closed after its response. */
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
/** The maximum size of a refused body that is discarded to keep the connection open. */
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

  /** True once the status was written. */
  committed = false
  /** True once the whole response was written. */
  ended = false
  /** True if the connection was closed before the client took the whole response. */
  gone = false
  /** True while the socket's buffer is full. Nothing should be written until it drains. */
  blocked = false
  status = 0
  wroteAtMillis: number
  /** Is called when the socket has taken the last byte of an ended stream. */
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

  /** Sets the text that the stream delivers, and a callback for when a blocked stream may continue. */
  beginsWith(text: DeliveredText, onUnblocked: () => void): void {
    this.#text = text
    this.#onUnblocked = onUnblocked
  }

  /** Writes complete frames, and the response head before the first frames. Returns false to pause the provider. */
  write(frames: string): boolean {
    return this.ended || this.gone || this.#send(frames, "")
  }

  /** Writes these frames and ends the stream. */
  end(frames: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    // Does not use the callback of `end`, which does not distinguish a socket that took the last write from a destroyed
    // socket.
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

  /** Writes an error response if nothing was written before. */
  refuse(refusal: WireErrorBody): void {
    if (this.committed || this.gone) return
    this.ended = true
    writeRefusal(this.#request, this.#response, refusal, {
      writeHead: (own) => this.#head(refusal.status, own),
      discardedBytes: DISCARDED_BODY_BYTES
    })
  }

  /** Must be called when the connection is closed or this response is finished. */
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
    // Text with one byte per character is written faster as latin1.
    const hasRoom = this.#response.write(chunk, bytes === frames.length ? "latin1" : "utf8", this.#taken)
    if (!hasRoom && !this.blocked) this.#block()
    return hasRoom
  }

  /** The callback of every write of a stream. The socket takes writes in the order in which they were written. */
  readonly #taken = (error?: Error | null): void => {
    // Node reports a write that was pending when the connection was reset like a write that the socket took.
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

  /** Lets Node close a connection without progress. Node also sees the progress within one large write. */
  #expectTaking(): void {
    const { socket } = this.#response
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#settings.writeStallMillis)
  }
}
