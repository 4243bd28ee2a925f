/**
 * Refuses connections that do not send a valid request: bytes that are not HTTP, headers that are too large or never
 * end, or uploads that take too long. The refusal is written directly to the socket, because Node.js passes no response
 * object here.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { CommonHeaders } from "./CommonHeaders.ts"
import { writeRefusalToSocket } from "./Refusal.ts"
import { type SurfaceError, surfaceErrorBody } from "./SurfaceError.ts"

const errorOf = (code: string | undefined): SurfaceError => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { code: "headers_too_large", message: "The request line and the headers are larger than 16 KiB in total." }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { code: "request_timeout", message: "The request did not arrive completely within the time limit." }
    default:
      return { code: "invalid_request", message: "This is not a valid HTTP/1.1 request." }
  }
}

/** Maximum milliseconds until the connection is closed. In this time, the client can read the refusal. */
const LINGER_MILLIS = 1_000

/** The parts of a socket in which Node.js stores the open response and the request that is being received. */
interface HttpSocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
  readonly parser?: { readonly incoming: IncomingMessage | null } | null
}

/**
 * The error of Node.js. `rawPacket` contains the last bytes that were read. The first `bytesParsed` of them are valid.
 */
interface ConnectionFailure extends Error {
  readonly code?: string
  readonly rawPacket?: Uint8Array
  readonly bytesParsed?: number
}

/** The maximum number of ignored bytes after the last request of a connection. With more, the connection is closed. */
const MAX_IGNORED_BYTES = 65_536
const ignoredBytes = new WeakMap<Duplex, number>()

/**
 * Returns true if the client has sent at most {@link MAX_IGNORED_BYTES} after the last request of the connection. A
 * request with `Connection: close` is the last request. The bytes after it are ignored, and the response to this
 * request continues (docs/reference/http.md#http-10).
 */
const isAfterLastRequest = ({ bytesParsed = 0, code, rawPacket }: ConnectionFailure, socket: HttpSocket): boolean => {
  if (code !== "HPE_CLOSED_CONNECTION") return false
  const ignored = (ignoredBytes.get(socket) ?? 0) + (rawPacket?.length ?? 0) - bytesParsed
  ignoredBytes.set(socket, ignored)
  return ignored <= MAX_IGNORED_BYTES
}

export const respondToConnectionError = (
  failure: ConnectionFailure,
  socket: HttpSocket,
  headers: CommonHeaders,
  requestId: string
): void => {
  if (socket.writableEnded || isAfterLastRequest(failure, socket)) return
  if (!socket.writable || failure.code === "ECONNRESET") socket.destroy()
  else refuseConnection(socket, errorOf(failure.code), headers, requestId)
}

/**
 * Writes a refusal that belongs to no response object, and closes the connection. Writes no refusal if the client would
 * mistake it for the response to another request.
 */
export const refuseConnection = (
  socket: HttpSocket,
  error: SurfaceError,
  headers: CommonHeaders,
  requestId: string
): void => {
  // Node.js removes its own listener from the socket of a `CONNECT`. An error without a listener would end the process.
  socket.on("error", ignore)
  if (wouldBeMisread(socket)) {
    socket.destroy()
    return
  }
  // The path is unknown, so the refusal has the format that clients of the inference routes expect.
  const refusal = surfaceErrorBody(error, "/v1", requestId)
  writeRefusalToSocket(socket, refusal, (own) => headers.with(requestId, own), LINGER_MILLIS)
}

/** Ignores the error of a connection that is being closed. */
const ignore = () => {}

/**
 * Returns true if the client would treat a refusal as the response to another request. This is the case if an earlier
 * request of the connection has no complete response, or if the invalid request already has a response.
 */
const wouldBeMisread = ({ _httpMessage: open, parser }: HttpSocket): boolean =>
  open ? open.headersSent || open.req.complete : parser?.incoming?.complete === false
