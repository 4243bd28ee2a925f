/**
 * Bytes that are the same for everybody: made once, packed once, and named by what they say, so that whoever has them
 * already is not sent them again.
 */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"

export interface Representation {
  readonly plain: HttpServerResponse.HttpServerResponse
  readonly packed: HttpServerResponse.HttpServerResponse
  readonly unchanged: HttpServerResponse.HttpServerResponse
  readonly etag: string
}

export interface RepresentationOptions {
  readonly contentType: string
  readonly cacheControl: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Responses are values: these are the ones that are sent, every time. */
export const make = (content: string | Uint8Array, options: RepresentationOptions): Representation => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  // Weak: it names what is said, packed or not.
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
  const { contentType, cacheControl } = options
  const headers = { ...options.headers, "cache-control": cacheControl, vary: "accept-encoding", etag }
  return {
    plain: HttpServerResponse.uint8Array(bytes, { contentType, headers }),
    packed: HttpServerResponse.uint8Array(gzipSync(bytes), {
      contentType,
      headers: { ...headers, "content-encoding": "gzip" }
    }),
    unchanged: HttpServerResponse.empty({ status: 304, headers }),
    etag
  }
}

const REFUSES_GZIP = /gzip\s*;\s*q=0(\.0*)?\s*(,|$)/i

/** As this client can read it; or that it has it. */
export const respond = (
  { plain, packed, unchanged, etag }: Representation,
  { headers }: HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  if (headers["if-none-match"]?.includes(etag.slice(2))) return unchanged
  const accepted = headers["accept-encoding"]
  return accepted?.includes("gzip") && !REFUSES_GZIP.test(accepted) ? packed : plain
}
