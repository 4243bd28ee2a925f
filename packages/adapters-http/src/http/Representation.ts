/**
 * Prepares a response that is the same for every client. The response is compressed only once. Its ETag lets a client
 * that already has the content get 304 without a body.
 */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"

export interface Representation {
  readonly plain: HttpServerResponse.HttpServerResponse
  readonly compressed: HttpServerResponse.HttpServerResponse
  readonly notModified: HttpServerResponse.HttpServerResponse
  readonly etag: string
}

export interface RepresentationOptions {
  readonly contentType: string
  readonly cacheControl: string
  readonly headers?: Readonly<Record<string, string>>
}

export const make = (content: string | Uint8Array, options: RepresentationOptions): Representation => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  // The ETag is weak, because the plain and the compressed response share it.
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
  const { contentType, cacheControl } = options
  const headers = { ...options.headers, "cache-control": cacheControl, vary: "accept-encoding", etag }
  return {
    plain: HttpServerResponse.uint8Array(bytes, { contentType, headers }),
    compressed: HttpServerResponse.uint8Array(gzipSync(bytes), {
      contentType,
      headers: { ...headers, "content-encoding": "gzip" }
    }),
    notModified: HttpServerResponse.empty({ status: 304, headers }),
    etag
  }
}

const REFUSES_GZIP = /gzip\s*;\s*q=0(\.0*)?\s*(,|$)/i

/** Returns 304 if the client already has the content, else the plain or the compressed response. */
export const respond = (
  { plain, compressed, notModified, etag }: Representation,
  { headers }: HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  if (headers["if-none-match"]?.includes(etag.slice(2))) return notModified
  const accepted = headers["accept-encoding"]
  return accepted?.includes("gzip") && !REFUSES_GZIP.test(accepted) ? compressed : plain
}
