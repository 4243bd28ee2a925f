/**
 * Records the replies of the HTTP servers in this process as clients receive them.
 */
import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { gunzipSync } from "node:zlib"
import { expect } from "vitest"

export interface RecordedReply {
  readonly method: string
  /** The request target, for example `/v1/usage?limit=5`. */
  readonly target: string
  readonly status: number
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The body without content coding and chunk framing; undefined if it is longer than {@link MAX_BODY_BYTES}. */
  readonly body: string | undefined
  /** Name of the test that ran when the reply was complete. */
  readonly test: string
}

/** Bodies of images are longer, and tests of memory must not keep them. */
const MAX_BODY_BYTES = 512 * 1024
const REQUEST_START = "http.server.request.start"

type Write = (chunk?: unknown, ...rest: ReadonlyArray<unknown>) => unknown

/** The replies that are recorded and not checked yet. The list is shared by all test files of a worker. */
const STATE = Symbol.for("tollgate.recordedReplies")
const shared = globalThis as { [STATE]?: Array<RecordedReply> }

/** Returns the replies since the last call, and records further replies. */
export const takeReplies = (): ReadonlyArray<RecordedReply> => {
  if (shared[STATE] === undefined) {
    const replies: Array<RecordedReply> = []
    shared[STATE] = replies
    record((reply) => replies.push(reply))
  }
  return shared[STATE].splice(0)
}

/** Calls `keep` with each complete reply of a gateway. Only a gateway sends both headers with the request id. */
const record = (keep: (reply: RecordedReply) => void): void => {
  subscribe(REQUEST_START, (message) => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    const chunks: Array<Buffer> = []
    let bytes = 0
    const collecting =
      (write: Write): Write =>
      (chunk, ...rest) => {
        if (typeof chunk === "string" || chunk instanceof Uint8Array) {
          const encoding = typeof rest[0] === "string" ? (rest[0] as BufferEncoding) : "utf8"
          const added = typeof chunk === "string" ? Buffer.from(chunk, encoding) : Buffer.from(chunk)
          bytes += added.length
          if (bytes <= MAX_BODY_BYTES) chunks.push(added)
          else chunks.length = 0
        }
        return write(chunk, ...rest)
      }
    response.write = collecting(response.write.bind(response) as Write) as typeof response.write
    response.end = collecting(response.end.bind(response) as Write) as typeof response.end
    response.once("finish", () => {
      const headers = headersOf(response)
      if (headers["x-request-id"] === undefined || headers["x-request-id"] !== headers["request-id"]) return
      const { method = "", url: target = "" } = request
      const body = bytes > MAX_BODY_BYTES ? undefined : bodyOf(Buffer.concat(chunks), headers)
      keep({
        method,
        target,
        status: response.statusCode,
        headers,
        body,
        test: expect.getState().currentTestName ?? ""
      })
    })
  })
}

const bodyOf = (bytes: Buffer, headers: RecordedReply["headers"]): string => {
  if (headers["content-encoding"] === "gzip" && bytes.length > 0) return gunzipSync(bytes).toString()
  const text = bytes.toString()
  // The relay writes the chunk framing of its event streams itself.
  return headers["content-type"]?.startsWith("text/event-stream") && /^[0-9a-f]+\r\n/.test(text)
    ? unframed(bytes)
    : text
}

const unframed = (bytes: Buffer): string => {
  const chunks: Array<Buffer> = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at)
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16)
    if (line < 0 || !(size > 0)) return Buffer.concat(chunks).toString()
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}

/** Returns the headers as they were sent. Node.js has no public function for headers that `writeHead` got as a list. */
const headersOf = (response: ServerResponse): Readonly<Record<string, string>> => {
  const { _header: head } = response as unknown as { readonly _header: string | null }
  const lines = (head ?? "")
    .split("\r\n")
    .slice(1)
    .filter((line) => line !== "")
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(": ")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    })
  )
}
