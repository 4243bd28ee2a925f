/**
 * The answer to a browser that asks whether a page may call us: on every path, without a key (gap F14).
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CommonHeaders } from "./CommonHeaders.ts"

/**
 * The headers asked for are named again, since a `*` does not cover `authorization`. Only pages that name their key
 * themselves can use it: nothing here depends on cookies.
 */
export const answerPreflight = (
  request: IncomingMessage,
  response: ServerResponse,
  headers: CommonHeaders,
  requestId: string
): void => {
  const asked = request.headers["access-control-request-headers"]
  const own = [
    "access-control-allow-methods",
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    ...(asked === undefined ? [] : ["access-control-allow-headers", asked]),
    "access-control-max-age",
    "86400",
    "cache-control",
    "no-store"
  ]
  response.writeHead(204, headers.with(requestId, own))
  response.end()
}
