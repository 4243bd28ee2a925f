/**
 * The one writer of refusals, for every surface: an error response with its status, its headers and the JSON body of the
 * surface, over a Node response, through a handler of the HttpApi, or on a bare socket.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"

/** How long a client that is still uploading has to read its refusal. */
const LINGER_MILLIS = 5_000

export interface RefusalOptions {
  /** Sends the head with these headers, names and values alternating. */
  readonly writeHead: (own: ReadonlyArray<string>) => void
  /** An unread body of at most this announced length is discarded, so that the connection can be used again. */
  readonly discardedBytes: number
}

/**
 * Over a Node response. A larger unread body ends the connection, but not at once: that would reset it, and the client
 * would see the reset instead of the response. The client has a moment to read the response and to stop uploading.
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
    return
  }
  response.shouldKeepAlive = false
  writeHead(headersOf(refusal))
  response.write(refusal.body)
  const cut = setTimeout(() => response.destroy(), LINGER_MILLIS).unref()
  response.once("close", () => clearTimeout(cut))
  request.once("end", () => response.end())
  request.resume()
}

/** From a handler of the HttpApi; the server adds the common headers. */
export const refusalResponse = ({ status, headers, body }: WireErrorBody): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body, { status, contentType: "application/json", headers })

/** On a socket without a response. The client has this long to read the refusal before the connection is cut. */
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

/** The body is left to Node, which closes the connection after the response. */
export const ANY_LENGTH = Number.POSITIVE_INFINITY

const canDiscardBody = (request: IncomingMessage, discardedBytes: number): boolean => {
  if (request.complete || discardedBytes === ANY_LENGTH) return true

  const { "content-length": length, "transfer-encoding": coding, expect } = request.headers
  return coding === undefined && expect === undefined && Number(length ?? 0) <= discardedBytes
}
