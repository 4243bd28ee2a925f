/**
 * Builds the requests of the benchmarks. The body of an inference request has 1,900 bytes. Its member `user`, which
 * every gateway forwards, states which response the mock upstream must send.
 */

export type InferenceRequestKind =
  /** A whole response of about 0.9 KB. */
  | { readonly kind: "json" }
  /** A stream that begins after `afterMillis` and then sends `chunks` chunks, one every `everyMillis`. */
  | { readonly kind: "stream"; readonly chunks: number; readonly everyMillis: number; readonly afterMillis: number }
  /** A stream that begins and then sends nothing. */
  | { readonly kind: "idle" }

/** An inference request, or a request for the public rankings of a window. */
export type RequestKind = InferenceRequestKind | { readonly kind: "rankings"; readonly window: string }

export const MODEL = "bench-model"
export const UPSTREAM_MODEL = "bench-upstream-model"

/** The prompt tokens that the mock upstream reports for every request. */
export const PROMPT_TOKENS = 400
/**
 * The completion tokens that the mock upstream reports for a whole response. For a stream it reports one token per
 * chunk.
 */
export const COMPLETION_TOKENS = 150

const BODY_BYTES = 1_900
const MARK = '"user":"bench:'

const bodyOf = (request: InferenceRequestKind): string => {
  const detail = request.kind === "stream" ? `:${request.chunks}:${request.everyMillis}:${request.afterMillis}` : ""
  const streamed = request.kind === "json" ? "" : '"stream":true,"stream_options":{"include_usage":true},'
  const before = `{"model":"${MODEL}",${streamed}${MARK}${request.kind}${detail}","temperature":0.7,"messages":[{"role":"user","content":"`
  const after = '"}]}'
  const filler = "Explain how a gateway counts what it delivers. ".repeat(60)
  return before + filler.slice(0, BODY_BYTES - before.length - after.length) + after
}

/** Reads the kind of an inference request from its bytes. */
export const requestKindOf = (request: Buffer): InferenceRequestKind => {
  const start = request.indexOf(MARK) + MARK.length
  const [kind, ...figures] = request.toString("latin1", start, request.indexOf('"', start)).split(":")
  const [chunks = 0, everyMillis = 0, afterMillis = 0] = figures.map(Number)
  if (kind === "stream") return { kind, chunks, everyMillis, afterMillis }
  return kind === "idle" ? { kind } : { kind: "json" }
}

/** Returns a whole HTTP request. */
export const requestOf = (port: number, key: string, request: RequestKind): string => {
  if (request.kind === "rankings")
    return `GET /api/rankings?window=${request.window} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`
  const body = bodyOf(request)
  return headOf(port, key, body) + body
}

const headOf = (port: number, key: string, body: string): string =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    ""
  ].join("\r\n")
