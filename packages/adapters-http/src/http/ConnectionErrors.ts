/**
 * Answers to what is not even a request: bytes that are no HTTP, headers that are too large or never end, uploads
 * that take for ever. Written to the bare socket, since there is no response to write to.
 */
import type { Duplex } from "node:stream"
import type { CommonHeaders } from "./CommonHeaders.ts"
import { type SurfaceError, statusOf, surfaceErrorBody } from "./SurfaceError.ts"

const reasons: { readonly [status: number]: string } = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large"
}

const told = (code: string | undefined): SurfaceError => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { code: "headers_too_large", message: "The headers of the request are larger than 16 KiB together." }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { code: "request_timeout", message: "The request did not arrive in time." }
    default:
      return { code: "invalid_request", message: "This is not a valid HTTP/1.1 request." }
  }
}

/** How long the client has to read the answer before the connection is cut. */
const LINGER_MILLIS = 1_000

export const answerConnectionError = (
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
  const error = told(failure.code)
  // No path is known; the inference envelope is the one that every client of an inference route reads.
  const body = surfaceErrorBody(error, "/v1", requestId)
  const lines = [`HTTP/1.1 ${statusOf(error)} ${reasons[statusOf(error)]}`]
  const own = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))]
  const all = headers.with(requestId, [...own, "cache-control", "no-store", "connection", "close"])
  for (let i = 0; i < all.length; i += 2) lines.push(`${all[i]}: ${all[i + 1]}`)
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER_MILLIS).unref()
}
