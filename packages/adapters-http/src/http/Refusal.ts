/**
 * Writes refusals (error responses), which consist of a status, headers and a JSON body. A refusal is written to a
 * Node.js response, returned by an HttpApi handler, or written directly to a socket.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"
import { limitDiscarding, refuseUnreadBody } from "./UnreadBody.ts"

/**
 * Maximum milliseconds until the connection is closed. In this time, a client that is still uploading can read the
 * refusal.
 */
const LINGER_MILLIS = 5_000

export interface RefusalOptions {
  /** Writes the response head with these headers, in which names and values alternate. */
  readonly writeHead: (own: ReadonlyArray<string>) => void
  /** The maximum `content-length` of an unread body that is discarded so that the connection can stay open. */
  readonly discardedBytes: number
}

/**
 * Writes a refusal to a Node.js response. If the unread body is possibly larger than `discardedBytes`, the connection
 * is closed when the body has arrived, or after {@link LINGER_MILLIS} at the latest. An immediate close would reset the
 * connection, and the client would see the reset instead of the response. During a flood of such refusals, the refusal
 * is written later.
 */
export const writeRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: WireErrorBody,
  { discardedBytes, writeHead }: RefusalOptions
): void => {
  if (canDiscardBody(request, discardedBytes)) {
    writeHead(headersOf(refusal))
    response.end(refusal.body)
    limitDiscarding(request)
    return
  }
  response.shouldKeepAlive = false
  refuseUnreadBody(request, () => {
    writeHead(headersOf(refusal))
    response.write(refusal.body)
    const cut = setTimeout(() => response.destroy(), LINGER_MILLIS).unref()
    response.once("close", () => clearTimeout(cut))
    request.once("end", () => response.end())
  })
}

/** Returns the refusal as the response of an HttpApi handler. The server adds the common headers. */
export const refusalResponse = ({ status, headers, body }: WireErrorBody): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body, { status, contentType: "application/json", headers })

/** Writes a refusal directly to a socket, and closes the connection after `lingerMillis` at the latest. */
export const writeRefusalToSocket = (
  socket: Duplex,
  refusal: WireErrorBody,
  allHeaders: (own: ReadonlyArray<string>) => ReadonlyArray<string>,
  lingerMillis: number
): void => {
  const lines = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`]
  const headers = allHeaders([...headersOf(refusal), "connection", "close"])
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.end(`${lines.join("\r\n")}\r\n\r\n${refusal.body}`)
  setTimeout(() => socket.destroy(), lingerMillis).unref()
}

const headersOf = ({ headers, body }: WireErrorBody): ReadonlyArray<string> => [
  "content-type",
  "application/json",
  "cache-control",
  "no-store",
  "content-length",
  String(Buffer.byteLength(body)),
  ...Object.entries(headers).flat()
]

/**
 * Value of `discardedBytes` for a caller that sets `shouldKeepAlive` to false. Node.js then closes the connection after
 * the response, for any length of the unread body.
 */
export const ANY_LENGTH = Number.POSITIVE_INFINITY

const canDiscardBody = (request: IncomingMessage, discardedBytes: number): boolean => {
  if (request.complete || discardedBytes === ANY_LENGTH) return true

  const { "content-length": length, "transfer-encoding": coding, expect } = request.headers
  return coding === undefined && expect === undefined && Number(length ?? 0) <= discardedBytes
}
