/**
 * Tests requests with hosted tools, sent by the official SDKs.
 */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { TestGateway } from "../support/TestGateway.ts"
import { completion } from "../support/upstream/ChatWire.ts"
import { message } from "../support/upstream/MessagesWire.ts"
import { response } from "../support/upstream/ResponsesWire.ts"
import { json, type Script } from "../support/upstream/Script.ts"

const provider = { protocols: ["chat", "messages", "responses"] }

let gateway: TestGateway
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  gateway = await TestGateway.start({ provider })
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.customer.key, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.customer.key, maxRetries: 0 })
})
afterAll(() => gateway.close())

const messages = [{ role: "user" as const, content: "Search the web." }]
const searching: ReadonlyArray<readonly [string, string, string, Script, (stream: boolean) => Promise<unknown>]> = [
  [
    "chat with web_search_options",
    "web_search_options",
    "invalid_request_error",
    json(completion()),
    (stream) => openai.chat.completions.create({ model: "m", messages, stream, web_search_options: {} })
  ],
  [
    "messages with a server tool",
    "tools",
    "invalid_request_error",
    json(message()),
    (stream) =>
      anthropic.messages.create({
        model: "m",
        max_tokens: 99,
        messages,
        stream,
        tools: [{ type: "web_search_20250305", name: "web_search" }]
      })
  ],
  [
    "responses with a hosted tool",
    "tools",
    "invalid_request_error",
    json(response()),
    (stream) => openai.responses.create({ model: "m", input: "Search.", stream, tools: [{ type: "web_search" }] })
  ]
]

const errorOf = async (request: Promise<unknown>) => {
  try {
    await request
    return undefined
  } catch (error) {
    return error as { readonly status: number; readonly error: unknown }
  }
}

describe.each(searching)("a request to %s", (_, param, type, served, send) => {
  it.each([false, true])("is refused with 400 invalid_request (stream: %s)", async (stream) => {
    const [sent, settled] = [gateway.upstream.requests.length, await gateway.query("SELECT FROM settlement")]
    const error = await errorOf(send(stream))
    expect(error?.status).toBe(400)
    const text = JSON.stringify(error?.error)
    for (const part of [`"code":"invalid_request"`, `"type":"${type}"`, `"param":"${param}"`, "'web_search'"])
      expect(text).toContain(part)
    expect(gateway.upstream.requests.length).toBe(sent)
    expect(await gateway.query("SELECT FROM settlement")).toEqual(settled)
    expect(await gateway.query("SELECT FROM open_request")).toEqual([])
  })

  it("is served if the catalog allows the tool", async () => {
    await gateway.applyCatalog({ provider, model: { hosted_tools: ["web_search"] } })
    gateway.upstream.next(served)
    const sent = gateway.upstream.requests.length
    await send(false)
    expect(gateway.upstream.requests.length).toBe(sent + 1)
    await gateway.applyCatalog({ provider })
  })
})
