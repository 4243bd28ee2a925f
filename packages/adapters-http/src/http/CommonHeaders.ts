/**
 * The headers of every response: the request id under both names that clients look for
 * (docs/reference/inference.md#a8), no sniffing, no caching unless the response sets its own, and the CORS headers. Also
 * the response to a CORS preflight request.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

export interface CommonHeadersOptions {
  /** Part of the header `x-<service>-billing`. */
  readonly serviceName: string
  /** The web pages that may call the service: `*`, one origin, or none. */
  readonly corsAllowOrigin: string | undefined
}

export class CommonHeaders {
  /** Names and values, alternating, as `writeHead` takes them fastest. */
  readonly #fixed: ReadonlyArray<string>
  readonly corsAllowOrigin: string | undefined

  constructor({ serviceName, corsAllowOrigin }: CommonHeadersOptions) {
    this.corsAllowOrigin = corsAllowOrigin
    const exposed = `x-request-id, request-id, retry-after, x-${serviceName}-billing`
    this.#fixed = [
      "x-content-type-options",
      "nosniff",
      ...(corsAllowOrigin === undefined
        ? []
        : ["access-control-allow-origin", corsAllowOrigin, "access-control-expose-headers", exposed]),
      ...(corsAllowOrigin === undefined || corsAllowOrigin === "*" ? [] : ["vary", "origin"])
    ]
  }

  /** All headers of a response with these of its own, for one `writeHead`. */
  with(requestId: string, own: ReadonlyArray<string>): Array<string> {
    return ["x-request-id", requestId, "request-id", requestId, ...this.#fixed, ...own]
  }

  /** For responses that the HttpApi writes: the headers that it sets itself win. */
  presetOn(response: ServerResponse, requestId: string): void {
    const headers = this.with(requestId, ["cache-control", "no-store"])
    for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] as string, headers[i + 1] as string)
  }
}

/**
 * Responds to a CORS preflight request: on every path, without a key (docs/reference/inference.md#f14).
 *
 * The requested headers are repeated, because a `*` does not cover `authorization`. Only pages that send a key themselves
 * can use it: nothing depends on cookies.
 */
export const respondToPreflight = (
  request: IncomingMessage,
  response: ServerResponse,
  headers: CommonHeaders,
  requestId: string
): void => {
  const requested = request.headers["access-control-request-headers"]
  const own = [
    "access-control-allow-methods",
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    ...(requested === undefined ? [] : ["access-control-allow-headers", requested]),
    "access-control-max-age",
    "86400",
    "cache-control",
    "no-store"
  ]
  response.writeHead(204, headers.with(requestId, own))
  response.end()
}
