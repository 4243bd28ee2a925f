/**
 * Decodes server-sent events from the chunks of a body. A chunk can end inside an event, a line or a character.
 *
 * A line ends in LF, CRLF or CR. A byte order mark, comments, `id:` and `retry:` are skipped. Bytes are kept until
 * their line is complete, so a character that is split between two chunks is not damaged.
 *
 * Some providers omit the blank line after the last event. Therefore an event at the end of the body is returned if its
 * data is complete. If its data is incomplete, the connection was closed inside the event, and the event is dropped.
 */

import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Either from "effect/Either"

export interface SseEvent {
  /** The `event:` field; empty if the event has none. */
  readonly event: string
  /** The `data:` lines, joined by newlines. */
  readonly data: string
}

/** Returns the JSON object in the data of an event; undefined if the data is anything else. */
export const objectIn = (data: string): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(data))
  } catch {
    return undefined
  }
}

/** The names of events that only keep the connection open. */
const HEARTBEATS: ReadonlySet<string> = new Set(["heartbeat", "keep-alive", "keepalive", "ping"])

/**
 * Returns whether an event whose data is not a JSON object is a heartbeat. Some model servers send a time or a word, or
 * no data, so that no proxy closes a silent connection. Any other event without a JSON object is a broken event.
 */
export const isHeartbeat = ({ event, data }: SseEvent): boolean =>
  HEARTBEATS.has(event.toLowerCase()) || (event === "" && data.trim() === "")

/**
 * Maximum size of a line (in bytes) or of the data of an event (in characters). A larger line or event is a failure of
 * the provider.
 */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024

type Decoded = Either.Either<ReadonlyArray<SseEvent>, UpstreamFailed>

/** The approximate number of bytes of memory that a `data:` line needs besides its text. */
const LINE_BYTES = 64

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff

const noEvents: Decoded = Either.right([])
const nothingCarried = Buffer.alloc(0)

export class SseDecoder {
  /** The bytes of an incomplete line, with spare capacity. */
  #carried = nothingCarried
  #carriedBytes = 0
  #event = ""
  #data: string | undefined
  /**
   * The memory of `#data`: {@link LINE_BYTES} for each line, and the texts of all chunks since the first line. V8 keeps
   * the whole text of a chunk in memory while a part of it is in use.
   */
  #dataBytes = 0
  #started = false
  #endedInCarriageReturn = false

  /** The approximate number of bytes of memory that the incomplete event needs. */
  get pendingBytes(): number {
    return this.#carriedBytes + this.#dataBytes
  }

  /** Returns the events that end in this chunk. After a failure, the caller must not pass further chunks. */
  push(chunk: Buffer): Decoded {
    const cut = endOfLastLine(chunk)
    if (cut === 0) return this.#carry(chunk)
    const whole = cut === chunk.length ? chunk : chunk.subarray(0, cut)
    const text = (this.#carriedBytes === 0 ? whole : Buffer.concat([this.#takeCarried(), whole])).toString()
    const single = this.#singleEventOf(text)
    const decoded = single === undefined ? this.#lines(text) : Either.right([single])
    return cut === chunk.length || Either.isLeft(decoded)
      ? decoded
      : Either.flatMap(this.#carry(chunk.subarray(cut)), () => decoded)
  }

  /** Ends the body. Returns the last event if its data is complete but its blank line is missing. */
  end(): ReadonlyArray<SseEvent> {
    const events: Array<SseEvent> = []
    const text = this.#takeCarried().toString()
    const hasMark = !this.#started && text.charCodeAt(0) === BYTE_ORDER_MARK
    for (const line of (hasMark ? text.slice(1) : text).split(/\r\n?|\n/)) this.#line(line, events)
    this.#line("", events)
    return events.filter(({ data }) => isComplete(data))
  }

  /**
   * Decodes a text that consists of one event with one `data:` line. Returns undefined if the text has another form, or
   * if the decoder is not between two events. This method is faster than `#lines`, and nearly every chunk is such a
   * text.
   */
  #singleEventOf(text: string): SseEvent | undefined {
    const ordinary =
      this.#started &&
      this.#data === undefined &&
      this.#event === "" &&
      text.startsWith("data: ") &&
      text.length <= MAX_EVENT_BYTES &&
      text.indexOf("\n") === text.length - 2 &&
      text.endsWith("\n") &&
      !text.includes("\r")
    if (!ordinary) return undefined
    this.#endedInCarriageReturn = false
    return { event: "", data: text.slice(6, -2) }
  }

  #lines(text: string): Decoded {
    const events: Array<SseEvent> = []
    let at = 0
    if (!this.#started) {
      this.#started = true
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) at = 1
    }
    if (this.#endedInCarriageReturn && text.charCodeAt(0) === LF) at = 1
    this.#endedInCarriageReturn = text.charCodeAt(text.length - 1) === CR
    const lines = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text
    for (let end = lines.indexOf("\n", at); end >= 0; end = lines.indexOf("\n", at)) {
      this.#line(lines.slice(at, end), events)
      if (this.#data !== undefined && this.#data.length > MAX_EVENT_BYTES) return this.#tooLarge()
      at = end + 1
    }
    if (this.#data !== undefined) this.#dataBytes += text.length
    return Either.right(events)
  }

  #line(line: string, events: Array<SseEvent>): void {
    if (line === "") {
      if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data })
      this.#data = undefined
      this.#dataBytes = 0
      this.#event = ""
    } else if (line.startsWith("data")) {
      const value = valueOf(line, "data")
      if (value === undefined) return
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
      this.#dataBytes += LINE_BYTES
    } else if (line.startsWith("event")) {
      this.#event = valueOf(line, "event") ?? this.#event
    }
  }

  #carry(bytes: Buffer): Decoded {
    const total = this.#carriedBytes + bytes.length
    if (total > MAX_EVENT_BYTES) return this.#tooLarge()
    if (total > this.#carried.length) {
      const grown = Buffer.allocUnsafe(Math.max(total, 2 * this.#carried.length, 1024))
      this.#carried.copy(grown, 0, 0, this.#carriedBytes)
      this.#carried = grown
    }
    bytes.copy(this.#carried, this.#carriedBytes)
    this.#carriedBytes = total
    return noEvents
  }

  #takeCarried(): Buffer {
    const carried = this.#carried.subarray(0, this.#carriedBytes)
    this.#carried = nothingCarried
    this.#carriedBytes = 0
    return carried
  }

  #tooLarge(): Decoded {
    this.#takeCarried()
    this.#data = undefined
    this.#dataBytes = 0
    return Either.left(new UpstreamFailed({ cause: `the provider sent an event larger than ${MAX_EVENT_BYTES} bytes` }))
  }
}

const endOfLastLine = (chunk: Buffer): number => {
  const last = chunk[chunk.length - 1]
  if (last === LF || last === CR) return chunk.length
  return Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1
}

/**
 * Returns the value of a line that begins with `field`, or undefined if the line's field name is longer than `field`.
 * One space after the colon is not part of the value.
 */
const valueOf = (line: string, field: string): string | undefined => {
  if (line.length === field.length) return ""
  if (line[field.length] !== ":") return undefined
  return line.slice(field.length + (line[field.length + 1] === " " ? 2 : 1))
}

/**
 * Returns true if the data is complete: valid JSON, as in every protocol, or `[DONE]`, the end mark of a chat stream.
 */
const isComplete = (data: string): boolean => {
  if (data === "[DONE]") return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
