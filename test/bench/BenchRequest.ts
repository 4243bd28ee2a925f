/**
 * The requests of the benchmark: about 1.9 KB each, and what the mock supplier is to answer, told in a member that
 * every gateway passes on.
 */

export type Ask =
  /** A whole answer of about 0.9 KB. */
  | { readonly kind: "json" }
  /** A stream of so many chunks, one after each interval. */
  | { readonly kind: "stream"; readonly chunks: number; readonly everyMillis: number }
  /** A stream that begins and then says nothing. */
  | { readonly kind: "idle" }

export const MODEL = "bench-model"
export const UPSTREAM_MODEL = "bench-upstream-model"

/** What the mock reports for every request. */
export const PROMPT_TOKENS = 400
/** What it reports for a whole answer; for a stream it reports one token a chunk. */
export const ANSWER_TOKENS = 150

const BODY_BYTES = 1_900
const MARK = '"user":"bench:'

export const bodyOf = (ask: Ask): string => {
  const detail = ask.kind === "stream" ? `:${ask.chunks}:${ask.everyMillis}` : ""
  const streamed = ask.kind === "json" ? "" : '"stream":true,"stream_options":{"include_usage":true},'
  const before = `{"model":"${MODEL}",${streamed}${MARK}${ask.kind}${detail}","temperature":0.7,"messages":[{"role":"user","content":"`
  const after = '"}]}'
  const filler = "Explain how a gateway counts what it delivers. ".repeat(60)
  return before + filler.slice(0, BODY_BYTES - before.length - after.length) + after
}

/** Reads {@link bodyOf} back out of the bytes of a request. */
export const askOf = (request: Buffer): Ask => {
  const start = request.indexOf(MARK) + MARK.length
  const [kind, chunks, everyMillis] = request.toString("latin1", start, request.indexOf('"', start)).split(":")
  if (kind === "stream") return { kind, chunks: Number(chunks), everyMillis: Number(everyMillis) }
  return kind === "idle" ? { kind } : { kind: "json" }
}

export const headOf = (port: number, key: string, body: string): string =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    ""
  ].join("\r\n")
