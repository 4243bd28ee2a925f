/**
 * Runs a small provider for the example. The provider streams ten deltas and then reports the usage.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const words = ["one", " two", " three", " four", " five", " six", " seven", " eight", " nine", " ten"]
const deltas = words.map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
const usage = { choices: [], usage: { prompt_tokens: 11, completion_tokens: 10 } }

/** Starts the provider and returns its base URL. The provider listens until the process ends. */
export const startProvider = async (): Promise<string> => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of [...deltas, usage]) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end("data: [DONE]\n\n")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
