/**
 * Simulates an upstream with as little processor time as possible: it writes prebuilt bytes to plain TCP sockets. It
 * runs in a separate process.
 */
import { createServer, type Socket } from "node:net"
import {
  COMPLETION_TOKENS,
  type InferenceRequestKind,
  PROMPT_TOKENS,
  requestKindOf,
  UPSTREAM_MODEL
} from "./BenchRequest.ts"

const RESPONSE_BYTES = 900

const usage = (completion: number) => ({
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: completion,
  total_tokens: PROMPT_TOKENS + completion
})

const wholeResponse = (): Buffer => {
  const bodyWith = (content: string) =>
    JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion",
      created: 1_700_000_000,
      model: UPSTREAM_MODEL,
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: usage(COMPLETION_TOKENS)
    })
  const body = bodyWith("a word of the response ".repeat(60).slice(0, RESPONSE_BYTES - bodyWith("").length))
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

const framed = (data: string): Buffer => {
  const frame = `data: ${data}\n\n`
  return Buffer.from(`${frame.length.toString(16)}\r\n${frame}\r\n`)
}

const chunk = (members: object): Buffer =>
  framed(
    JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: UPSTREAM_MODEL,
      system_fingerprint: "fp_0123456789",
      ...members
    })
  )
const delta = (delta: object, finish: string | null): Buffer =>
  chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })

const response = wholeResponse()
const streamHead = Buffer.concat([
  Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"),
  delta({ role: "assistant", content: "" }, null)
])
const token = delta({ content: " token" }, null)
const streamTail = (chunks: number): Buffer =>
  Buffer.concat([
    delta({}, "stop"),
    chunk({ choices: [], usage: usage(chunks) }),
    framed("[DONE]"),
    Buffer.from("0\r\n\r\n")
  ])

interface OpenStream {
  readonly socket: Socket
  readonly everyMillis: number
  readonly tail: Buffer
  chunksLeft: number
  nextAtMillis: number
}

const streams = new Set<OpenStream>()

const sendDueChunks = () => {
  const now = performance.now()
  for (const stream of streams) {
    while (stream.chunksLeft > 0 && stream.nextAtMillis <= now) {
      stream.socket.write(token)
      stream.chunksLeft -= 1
      stream.nextAtMillis += stream.everyMillis
    }
    if (stream.chunksLeft === 0) {
      stream.socket.write(stream.tail)
      streams.delete(stream)
    }
  }
}

const begin = (socket: Socket, kind: InferenceRequestKind): void => {
  if (kind.kind === "json") {
    socket.write(response)
    return
  }
  if (kind.kind === "idle") socket.write(streamHead)
  else if (kind.afterMillis === 0) beginStream(socket, kind)
  else setTimeout(() => beginStream(socket, kind), kind.afterMillis)
}

const beginStream = (socket: Socket, { chunks, everyMillis }: InferenceRequestKind & { kind: "stream" }): void => {
  socket.write(streamHead)
  const nextAtMillis = performance.now() + everyMillis
  const stream: OpenStream = { socket, everyMillis, tail: streamTail(chunks), chunksLeft: chunks, nextAtMillis }
  streams.add(stream)
  socket.once("close", () => streams.delete(stream))
}

const server = createServer((socket) => {
  let pending: Buffer | undefined
  socket.setNoDelay(true)
  socket.setMaxListeners(0)
  socket.on("error", () => {})
  socket.on("data", (data) => {
    pending = pending === undefined ? data : Buffer.concat([pending, data])
    for (;;) {
      const headEnd = pending.indexOf("\r\n\r\n")
      if (headEnd < 0) return
      const length = /content-length: *(\d+)/i.exec(pending.toString("latin1", 0, headEnd))?.[1]
      const size = headEnd + 4 + Number(length ?? "0")
      if (pending.length < size) return
      begin(socket, requestKindOf(pending.subarray(headEnd, size)))
      if (pending.length === size) {
        pending = undefined
        return
      }
      pending = pending.subarray(size)
    }
  })
})

setInterval(sendDueChunks, 1)
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  process.send?.({ ready: typeof address === "object" ? address?.port : 0 })
})
process.on("disconnect", () => process.exit())
