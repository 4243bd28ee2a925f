/**
 * Finds the delimiters of a multipart form, and passes each delimiter to the form parser in one piece with the headers
 * of the part that follows. The parser reads a delimiter or a header differently if a chunk ends inside it. Without
 * this step, the chunks in which a malformed form arrives would decide whether the form is accepted or refused.
 *
 * A delimiter must end with CRLF, and the closing delimiter with two hyphens (RFC 2046, section 5.1.1).
 */
const CR = 0x0d
const CRLF = Buffer.from("\r\n")
const CLOSING = Buffer.from("--")
const END_OF_HEADERS = Buffer.from("\r\n\r\n")

/** The maximum size of a delimiter and the headers that follow, in bytes. The form parser allows more. */
const MAX_HEADERS_BYTES = 8 * 1024

export class FormDelimiters {
  readonly #delimiter: Buffer
  readonly #pass: (piece: Buffer) => void
  #place: "content" | "delimiter" | "epilogue" = "content"
  /**
   * The bytes at the end of the form so far that can be the start of a delimiter, or a delimiter and its headers. At
   * first it is a line break, because the first delimiter of a form has none before it.
   */
  #withheld: Buffer = CRLF

  constructor(boundary: string, pass: (piece: Buffer) => void) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
    this.#pass = pass
  }

  /** Passes on the complete pieces of the form. Returns false if the form is malformed. */
  take(chunk: Buffer): boolean {
    let bytes = this.#withheld.length === 0 ? chunk : Buffer.concat([this.#withheld, chunk])
    while (this.#place !== "epilogue") {
      const length = this.#place === "content" ? this.#contentLength(bytes) : this.#delimiterLength(bytes)
      if (length === undefined) break
      if (length < 0) return false
      this.#pass(bytes.subarray(0, length))
      bytes = bytes.subarray(length)
    }
    this.#withheld = this.#place === "epilogue" ? Buffer.alloc(0) : bytes
    return true
  }

  /**
   * Returns the number of bytes before the next delimiter or before the possible start of one, or undefined if all
   * bytes must be withheld.
   */
  #contentLength(bytes: Buffer): number | undefined {
    const found = bytes.indexOf(this.#delimiter)
    if (found >= 0) {
      this.#place = "delimiter"
      return found
    }
    const possibleStart = bytes.indexOf(CR, Math.max(0, bytes.length - this.#delimiter.length + 1))
    if (possibleStart < 0) return bytes.length === 0 ? undefined : bytes.length
    return possibleStart === 0 ? undefined : possibleStart
  }

  /** Returns the length of the delimiter with its headers, undefined if they are incomplete, or -1 if malformed. */
  #delimiterLength(bytes: Buffer): number | undefined {
    const afterDelimiter = this.#delimiter.length
    if (bytes.length < afterDelimiter + 2) return undefined
    const next = bytes.subarray(afterDelimiter, afterDelimiter + 2)
    if (next.equals(CLOSING)) {
      this.#place = "epilogue"
      return afterDelimiter + 2
    }
    if (!next.equals(CRLF)) return -1
    const end = bytes.indexOf(END_OF_HEADERS, afterDelimiter)
    const length = end + END_OF_HEADERS.length
    // The line break at the end of the headers must not belong to the next delimiter.
    const needed = end + CRLF.length + this.#delimiter.length
    if ((end < 0 ? bytes.length : length) > MAX_HEADERS_BYTES) return -1
    if (end < 0 || bytes.length < needed) return undefined
    if (bytes.subarray(afterDelimiter, needed).includes(this.#delimiter)) return -1
    if (LONE_CR_OR_LF.test(bytes.toString("latin1", afterDelimiter, length))) return -1
    this.#place = "content"
    return length
  }
}

const LONE_CR_OR_LF = /\r(?!\n)|(?<!\r)\n/
