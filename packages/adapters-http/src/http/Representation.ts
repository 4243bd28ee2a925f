/**
 * Prepares a response that is the same for every client. The response is compressed with gzip at most once. Its ETag
 * lets a client that already has the content get 304 without a body.
 */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"

/** The supported content codings, best first. */
const CODINGS = ["br", "gzip"] as const
type Coding = (typeof CODINGS)[number]

export interface Representation {
  readonly plain: HttpServerResponse.HttpServerResponse
  /** For each available coding, a function that returns the response in this coding. */
  readonly compressed: { readonly [C in Coding]?: () => HttpServerResponse.HttpServerResponse }
  readonly notModified: HttpServerResponse.HttpServerResponse
  readonly etag: string
}

export interface RepresentationOptions {
  readonly contentType: string
  readonly cacheControl: string
  readonly headers?: Readonly<Record<string, string>>
  /** The request headers that select the response; by default only `accept-encoding`. */
  readonly vary?: string
  /**
   * The content in codings that already exist. If it does not contain gzip, the content is compressed when gzip is
   * first needed.
   */
  readonly compressed?: { readonly [C in Coding]?: Uint8Array }
}

export const make = (content: string | Uint8Array, options: RepresentationOptions): Representation => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  // The ETag is weak, because the plain and the compressed responses share it.
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
  const { contentType, cacheControl } = options
  const headers = { ...options.headers, "cache-control": cacheControl, vary: options.vary ?? "accept-encoding", etag }
  const encoded = (coding: Coding, body: () => Uint8Array) => {
    let response: HttpServerResponse.HttpServerResponse | undefined
    return () => {
      response ??= HttpServerResponse.uint8Array(body(), {
        contentType,
        headers: { ...headers, "content-encoding": coding }
      })
      return response
    }
  }
  const { br, gzip } = options.compressed ?? {}
  return {
    plain: HttpServerResponse.uint8Array(bytes, { contentType, headers }),
    compressed: {
      ...(br === undefined ? {} : { br: encoded("br", () => br) }),
      gzip: encoded("gzip", () => gzip ?? gzipSync(bytes))
    },
    notModified: HttpServerResponse.empty({ status: 304, headers }),
    etag
  }
}

const accepts = (accepted: string, coding: Coding): boolean =>
  accepted
    .toLowerCase()
    .split(",")
    .some((entry) => {
      const [name, ...parameters] = entry.split(";").map((part) => part.trim())
      return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    })

/**
 * Returns 304 if the client already has the content, otherwise the response in the best coding that the client accepts.
 */
export const respond = (
  { plain, compressed, notModified, etag }: Representation,
  { headers }: HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  const known = headers["if-none-match"]
  if (known?.trim() === "*" || known?.includes(etag.slice(2))) return notModified
  const accepted = headers["accept-encoding"]
  const coding = CODINGS.find((each) => compressed[each] !== undefined && accepts(accepted ?? "", each))
  return (coding === undefined ? undefined : compressed[coding]?.()) ?? plain
}
