/**
 * Adds the headers that every response has: the request id under both names that clients read
 * (docs/reference/inference.md#a8), `nosniff`, and the CORS headers if an origin is allowed. A response of the HttpApi
 * also gets `no-store`, unless it sets `cache-control`. Also responds to CORS preflight requests.
 *
 * A web page of an allowed origin can read every header. Browsers accept `*` for this, because the service never allows
 * requests with cookies.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

export interface CommonHeadersOptions {
  /** Origin of the web pages that may call the service: one origin, `*` for every origin, or undefined for none. */
  readonly corsAllowOrigin: string | undefined
}

export class CommonHeaders {
  /** Alternating header names and values, one of the formats that `writeHead` accepts. */
  readonly #fixed: ReadonlyArray<string>
  readonly corsAllowOrigin: string | undefined

  constructor({ corsAllowOrigin }: CommonHeadersOptions) {
    this.corsAllowOrigin = corsAllowOrigin
    this.#fixed = [
      "x-content-type-options",
      "nosniff",
      ...(corsAllowOrigin === undefined
        ? []
        : ["access-control-allow-origin", corsAllowOrigin, "access-control-expose-headers", "*"]),
      ...(corsAllowOrigin === undefined || corsAllowOrigin === "*" ? [] : ["vary", "origin"])
    ]
  }

  /** Returns the common headers followed by `own`, the other headers of the response, for one `writeHead`. */
  with(requestId: string, own: ReadonlyArray<string>): Array<string> {
    return ["x-request-id", requestId, "request-id", requestId, ...this.#fixed, ...own]
  }

  /**
   * Sets the common headers on a response of the HttpApi. The HttpApi can replace a common header later.
   */
  presetOn(response: ServerResponse, requestId: string): void {
    const headers = this.with(requestId, ["cache-control", "no-store"])
    for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] as string, headers[i + 1] as string)
  }
}

/**
 * Responds to a CORS preflight request for any path. The request needs no API key (docs/reference/inference.md#f14).
 *
 * The response allows exactly the requested headers, because `*` would not include `authorization`. This is safe: the
 * service uses no cookies, so a web page must itself send an API key.
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
