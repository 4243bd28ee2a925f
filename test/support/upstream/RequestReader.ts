/**
 * Parses the HTTP requests on one connection and keeps their exact bytes.
 *
 * It supports only bodies with a `content-length`, because the gateway always sends that header to upstreams.
 */
export interface ParsedRequest {
  readonly method: string
  /** The path with the query. */
  readonly path: string
  /** The headers by lower-case name. The values of a repeated header are joined with ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The request line and the header lines, unchanged. */
  readonly head: string
  readonly body: Buffer
}

export class RequestReader {
  #pieces: Array<Buffer> = []
  #length = 0
  /** The number of received bytes below which the next request cannot be complete. */
  #wanted = 1

  add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  take(): ParsedRequest | undefined {
    if (this.#length < this.#wanted) return undefined
    const bytes = Buffer.concat(this.#pieces)
    this.#pieces = [bytes]
    const end = bytes.indexOf("\r\n\r\n")
    if (end < 0) return undefined
    const head = bytes.toString("latin1", 0, end)
    const [requestLine = "", ...lines] = head.split("\r\n")
    const [method = "", path = ""] = requestLine.split(" ")
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(":")
      const name = line.slice(0, colon).toLowerCase()
      const value = line.slice(colon + 1).trim()
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
    }
    this.#wanted = end + 4 + Number(headers["content-length"] ?? "0")
    if (this.#length < this.#wanted) return undefined
    const body = bytes.subarray(end + 4, this.#wanted)
    this.#pieces = [bytes.subarray(this.#wanted)]
    this.#length -= this.#wanted
    this.#wanted = 1
    return { method, path, headers, head, body }
  }
}
