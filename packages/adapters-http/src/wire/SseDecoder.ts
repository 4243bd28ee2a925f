/**
 * Server-sent events out of the bytes of a body, chunk by chunk, wherever the chunks were cut.
 *
 * Lines may end in LF, CRLF or CR; a byte order mark, comments, `id:` and `retry:` are passed over. Bytes are kept
 * until their line is whole, so a character cut in two is never damaged. What a body leaves unfinished at its end
 * is an event only when its data is whole: suppliers forget the last blank line, and connections break anywhere.
 */

import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"

export interface SseEvent {
  /** The `event:` field; empty when there was none. */
  readonly event: string
  /** The `data:` lines, joined by newlines. */
  readonly data: string
}

/** A line or an event may have this many bytes; more is a broken supplier. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024

type Decoded = Either.Either<ReadonlyArray<SseEvent>, UpstreamFailed>

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff

const noEvents: Decoded = Either.right([])
const nothingCarried = Buffer.alloc(0)

export class SseDecoder {
  /** Holds the bytes of a line that has not ended yet, with room to grow. */
  #carried = nothingCarried
  #carriedBytes = 0
  #event = ""
  #data: string | undefined
  #started = false
  #endedInCarriageReturn = false

  /** The events that end in this chunk. After a failure the body is not to be read on. */
  push(chunk: Buffer): Decoded {
    const cut = endOfLastLine(chunk)
    if (cut === 0) return this.#carry(chunk)
    const whole = cut === chunk.length ? chunk : chunk.subarray(0, cut)
    const text = (this.#carriedBytes === 0 ? whole : Buffer.concat([this.#takeCarried(), whole])).toString()
    const only = this.#onlyEventOf(text)
    const decoded = only === undefined ? this.#lines(text) : Either.right([only])
    return cut === chunk.length || Either.isLeft(decoded)
      ? decoded
      : Either.flatMap(this.#carry(chunk.subarray(cut)), () => decoded)
  }

  /** The body is over: its last event, when only the blank line after it is missing. */
  end(): ReadonlyArray<SseEvent> {
    const events: Array<SseEvent> = []
    for (const line of this.#takeCarried()
      .toString()
      .split(/\r\n?|\n/))
      this.#line(line, events)
    this.#line("", events)
    return events.filter(({ data }) => isWhole(data))
  }

  /** Nearly every chunk is exactly one event of one line: worth a way of its own. */
  #onlyEventOf(text: string): SseEvent | undefined {
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
    return Either.right(events)
  }

  #line(line: string, events: Array<SseEvent>): void {
    if (line === "") {
      if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data })
      this.#data = undefined
      this.#event = ""
    } else if (line.startsWith("data")) {
      const value = valueOf(line, "data")
      if (value !== undefined) this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
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
    return Either.left(new UpstreamFailed({ cause: `an event larger than ${MAX_EVENT_BYTES} bytes` }))
  }
}

const endOfLastLine = (chunk: Buffer): number => {
  const last = chunk[chunk.length - 1]
  if (last === LF || last === CR) return chunk.length
  return Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1
}

/** The value of a line if its field has this name; one space after the colon is not part of it. */
const valueOf = (line: string, field: string): string | undefined => {
  if (line.length === field.length) return ""
  if (line[field.length] !== ":") return undefined
  return line.slice(field.length + (line[field.length + 1] === " " ? 2 : 1))
}

/** The data of every inference protocol is JSON, but for OpenAI's last word. */
const isWhole = (data: string): boolean => {
  if (data === "[DONE]") return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
