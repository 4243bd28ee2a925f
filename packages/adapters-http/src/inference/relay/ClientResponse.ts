/**
 * `ClientResponse` writes the response to one relayed request: a whole JSON response, an error, or an event stream.
 *
 * Content counts as delivered when the client's socket has accepted the bytes of the write that contains the content.
 * Node.js reports this with the callback of the write. This class writes the HTTP chunk framing of streams itself,
 * because the framing of Node.js needs four socket writes per chunk.
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
  /** The time in milliseconds after which a client that receives no byte of a pending write is disconnected. */
  readonly writeStallMillis: number
  /** Returns true during the drain. A response whose head is written during the drain closes its connection. */
  readonly draining: () => boolean
  /** Returns true while the server refuses new requests before it stops. */
  readonly refusing: () => boolean
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
/** The maximum `content-length` of an unread request body that is discarded so that its connection can stay open. */
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
  #onAccepted: (() => void) | undefined

  /** True after the response head has been written. */
  committed = false
  /** True after the caller has ended or refused the response. A refusal may still wait to be written. */
  ended = false
  /**
   * True if the connection was closed before the caller ended or refused the response, or before the socket accepted
   * the last write of a stream.
   */
  gone = false
  /** True while the socket's send buffer is full. Callers should not write until the buffer is empty again. */
  blocked = false
  /** The status of the response head, or of a refusal that may still wait to be written; 0 before. */
  status = 0
  wroteAtMillis: number

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

  /** Sets the object that records delivered content, and a callback that is called when `blocked` becomes false. */
  setDelivery(text: DeliveredText, onUnblocked: () => void): void {
    this.#text = text
    this.#onUnblocked = onUnblocked
  }

  /** Sets a callback that is called when the socket has accepted the last byte of an ended stream. */
  whenAccepted(callback: () => void): void {
    this.#onAccepted = callback
  }

  /** Writes complete frames. The first call also writes the response head. Returns false if the caller should pause. */
  write(frames: string): boolean {
    return this.ended || this.gone || this.#send(frames, "")
  }

  /** Writes the last frames and ends the stream. */
  end(frames: string): void {
    if (this.ended || this.gone) return
    this.ended = true
    // The callback of `end` is not used: it is called even if the socket was destroyed before the last write.
    this.#asOneText(() => this.#send(frames, LAST_CHUNK))
    this.#closeIfRefusing()
    this.#response.end()
    this.#limitStall()
  }

  /** Writes a JSON response with status 200. */
  writeWhole(body: string, encoding: "utf8" | "latin1"): void {
    if (this.ended || this.gone) return
    this.ended = true
    const bytes = Buffer.byteLength(body, encoding)
    this.#settings.counters.responseBytes += bytes
    this.#head(200, [...JSON_RESPONSE, String(bytes)])
    this.#asOneText(() => this.#response.write(body, encoding))
    this.#response.end()
    this.#limitStall()
  }

  /**
   * Runs the last write, and passes its text to the socket before `end` is called. Otherwise `end` would pass two texts
   * together: this text, and an empty text. One text is faster.
   */
  #asOneText(write: () => void): void {
    const { socket } = this.#response
    socket?.cork()
    write()
    socket?.uncork()
  }

  /** Writes an error response, unless the request already has a response or the client is gone. */
  refuse(refusal: WireErrorBody): void {
    if (this.committed || this.ended || this.gone) return
    this.ended = true
    this.status = refusal.status
    writeRefusal(this.#request, this.#response, refusal, {
      writeHead: (own) => this.#head(refusal.status, own),
      discardedBytes: DISCARDED_BODY_BYTES
    })
  }

  /** Records the end of the response. Must be called once, when Node.js emits `close` for the response. */
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

  /**
   * Closes the connection after a stream if the server has begun to refuse requests since it wrote the head of the
   * stream. Otherwise the client would send its next request on this connection, and the server would refuse the
   * request.
   */
  #closeIfRefusing(): void {
    const { shouldKeepAlive, socket } = this.#response
    if (shouldKeepAlive && this.#settings.refusing()) this.#response.once("finish", () => socket?.end())
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
    // Node.js writes text faster as latin1. This is correct if each character of the text is one byte in UTF-8.
    const hasRoom = this.#response.write(chunk, bytes === frames.length ? "latin1" : "utf8", this.#writeAccepted)
    if (!hasRoom && !this.blocked) this.#block()
    return hasRoom
  }

  /** Marks the content of the oldest pending write as delivered. Node.js calls this function once for each write. */
  readonly #writeAccepted = (error?: Error | null): void => {
    // If the connection is reset, Node.js reports pending writes as successful, so `destroyed` is checked too.
    if (error || this.#request.socket.destroyed || this.#marks?.shift() !== true) return
    this.#text?.markDelivered(this.#marks.characters, this.#marks.deltas)
    if (this.ended && this.#marks.isEmpty) this.#onAccepted?.()
  }

  #block(): void {
    this.blocked = true
    this.#limitStall()
    this.#response.once("drain", () => {
      this.blocked = false
      this.#response.socket?.setTimeout(0)
      this.#onUnblocked?.()
    })
  }

  /**
   * Makes Node.js close the connection if the client reads nothing for a time. If the client reads a part of one large
   * write, this time begins again.
   */
  #limitStall(): void {
    const { socket } = this.#response
    if (socket !== null && socket.writableLength > 0) socket.setTimeout(this.#settings.writeStallMillis)
  }
}
