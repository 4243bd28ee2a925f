/**
 * The requests of the benchmarks: about 1.9 KB each, and what the mock supplier is to answer, told in a member that
 * every gateway passes on.
 */

export type InferenceAsk =
  /** A whole answer of about 0.9 KB. */
  | { readonly kind: "json" }
  /** A stream of so many chunks, one after each interval. */
  | { readonly kind: "stream"; readonly chunks: number; readonly everyMillis: number }
  /** A stream that begins and then says nothing. */
  | { readonly kind: "idle" }

/** Or no inference at all: the public feed of a window. */
export type Ask = InferenceAsk | { readonly kind: "rankings"; readonly window: string }

export const MODEL = "bench-model"
export const UPSTREAM_MODEL = "bench-upstream-model"

/** What the mock reports for every request. */
export const PROMPT_TOKENS = 400
/** What it reports for a whole answer; for a stream it reports one token a chunk. */
export const ANSWER_TOKENS = 150

const BODY_BYTES = 1_900
const MARK = '"user":"bench:'

const bodyOf = (ask: InferenceAsk): string => {
  const detail = ask.kind === "stream" ? `:${ask.chunks}:${ask.everyMillis}` : ""
  const streamed = ask.kind === "json" ? "" : '"stream":true,"stream_options":{"include_usage":true},'
  const before = `{"model":"${MODEL}",${streamed}${MARK}${ask.kind}${detail}","temperature":0.7,"messages":[{"role":"user","content":"`
  const after = '"}]}'
  const filler = "Explain how a gateway counts what it delivers. ".repeat(60)
  return before + filler.slice(0, BODY_BYTES - before.length - after.length) + after
}

/** Reads what was asked back out of the bytes of a request for inference. */
export const askOf = (request: Buffer): InferenceAsk => {
  const start = request.indexOf(MARK) + MARK.length
  const [kind, chunks, everyMillis] = request.toString("latin1", start, request.indexOf('"', start)).split(":")
  if (kind === "stream") return { kind, chunks: Number(chunks), everyMillis: Number(everyMillis) }
  return kind === "idle" ? { kind } : { kind: "json" }
}

/** A whole request, as it goes over the wire. */
export const requestOf = (port: number, key: string, ask: Ask): string => {
  if (ask.kind === "rankings")
    return `GET /api/rankings?window=${ask.window} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`
  const body = bodyOf(ask)
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
