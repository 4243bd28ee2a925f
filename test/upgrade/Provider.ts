/**
 * A provider of models for the trial of upgrades. A stream takes about 3 seconds, a whole response about 0.3 seconds.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

/** The number of tokens in a response; each delta of a stream has one token. */
export const TOKENS = 30
export const PROMPT_TOKENS = 10
const DELTA_MILLIS = 100
const WHOLE_MILLIS = 300
export const UPSTREAM_MODEL = "upgrade-1"

const USAGE = { prompt_tokens: PROMPT_TOKENS, completion_tokens: TOKENS, total_tokens: PROMPT_TOKENS + TOKENS }
const HEAD = { id: "chatcmpl-1", created: 1_700_000_000, model: UPSTREAM_MODEL }

export const startProvider = async (): Promise<{ readonly port: number; readonly server: Server }> => {
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (piece: string) => {
      body += piece
    })
    request.once("end", () => {
      const { stream } = JSON.parse(body) as { stream?: boolean }
      if (stream !== true) {
        const message = { role: "assistant", content: "token ".repeat(TOKENS) }
        const choices = [{ index: 0, message, finish_reason: "stop" }]
        setTimeout(() => {
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify({ ...HEAD, object: "chat.completion", choices, usage: USAGE }))
        }, WHOLE_MILLIS)
        return
      }
      response.writeHead(200, { "content-type": "text/event-stream" })
      const send = (members: object) =>
        response.write(`data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", ...members })}\n\n`)
      let sent = 0
      const timer = setInterval(() => {
        if (sent < TOKENS) {
          sent += 1
          send({ choices: [{ index: 0, delta: { content: "token " }, finish_reason: null }] })
          return
        }
        clearInterval(timer)
        send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })
        send({ choices: [], usage: USAGE })
        response.end("data: [DONE]\n\n")
      }, DELTA_MILLIS)
      response.once("close", () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, port: (server.address() as AddressInfo).port }
}
