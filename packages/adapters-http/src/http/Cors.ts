/**
 * The CORS preflight response: on every path, without a key (docs/reference/inference.md#f14).
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CommonHeaders } from "./CommonHeaders.ts"

/**
 * The requested headers are repeated, because a `*` does not cover `authorization`. Only pages that send a key themselves
 * can use it: nothing depends on cookies.
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
