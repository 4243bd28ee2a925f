/**
 * Refuses connections that do not send a valid request: bytes that are not HTTP, headers that are too large or never
 * end, or uploads that take too long. The refusal is written directly to the socket, because Node.js passes only the
 * error and the socket here, and no response object.
 */
import type { Duplex } from "node:stream"
import type { CommonHeaders } from "./CommonHeaders.ts"
import { writeRefusalToSocket } from "./Refusal.ts"
import { type SurfaceError, surfaceErrorBody } from "./SurfaceError.ts"

const errorOf = (code: string | undefined): SurfaceError => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { code: "headers_too_large", message: "The request headers are larger than 16 KiB in total." }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { code: "request_timeout", message: "The request did not arrive completely within the time limit." }
    default:
      return { code: "invalid_request", message: "This is not a valid HTTP/1.1 request." }
  }
}

/** Milliseconds until the connection is closed. In this time, the client can read the refusal. */
const LINGER_MILLIS = 1_000

export const respondToConnectionError = (
  failure: Error & { readonly code?: string },
  socket: Duplex & { readonly _httpMessage?: { readonly headersSent: boolean } | null },
  headers: CommonHeaders,
  requestId: string
): void => {
  if (socket.writableEnded) return
  if (!socket.writable || failure.code === "ECONNRESET" || socket._httpMessage?.headersSent === true) {
    socket.destroy()
    return
  }
  const error = errorOf(failure.code)
  // The path is unknown, so the refusal has the format that clients of the inference routes expect.
  const refusal = surfaceErrorBody(error, "/v1", requestId)
  writeRefusalToSocket(socket, refusal, (own) => headers.with(requestId, own), LINGER_MILLIS)
}
