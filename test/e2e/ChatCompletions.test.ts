/**
 * Tests chat completions as applications use them, with the unmodified official client and a complete gateway.
 */
import OpenAI from "openai"
import { zodResponseFormat } from "openai/helpers/zod"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { TestGateway } from "../support/TestGateway.ts"
import { chatFrames, chunk, completion, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import { json, stream } from "../support/upstream/Script.ts"

const hello = [{ role: "user" as const, content: "Say hello." }]

let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  gateway = await TestGateway.start({ recorded: true })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(() => gateway.close())

/** Returns how much a call decreases the balance, in micro-USD. */
const debitOf = async (call: () => Promise<unknown>): Promise<bigint> => {
  const before = await gateway.balanceUsdMicro()
  await call()
  await gateway.lastSettlement()
  return before - (await gateway.balanceUsdMicro())
}

const readAll = async <Chunk>(chunks: AsyncIterable<Chunk>): Promise<ReadonlyArray<Chunk>> => {
  const all: Array<Chunk> = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

describe("a whole chat response", () => {
  it("has the upstream's content and the public model name", async () => {
    gateway.upstream.next(json(completion({ content: ["Hello!"], usage: usage(7, 3) })))
    const debit = await debitOf(async () => {
      const response = await client.chat.completions.create({ model: "m", messages: hello })
      expect(response.model).toBe("m")
      expect(response.id).toMatch(/^chatcmpl-/)
      expect(response.id).not.toBe("chatcmpl-up-1")
      expect(response.choices[0]?.message.content).toBe("Hello!")
      expect(response.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })
    })
    expect(debit).toBe(7n + 2n * 3n)
  })

  it("is requested with the client's bytes except for the model name", async () => {
    gateway.upstream.next(json(completion({ usage: usage(1, 1) })))
    const body = `{ "seed": 12345678901234567890, "model" : "m", "messages":[{"role":"user","content":"\\u00e9"}],"x":1.0 }`
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body
    })
    const request = gateway.upstream.requests.at(-1)
    expect(request?.body.toString("utf8")).toBe(body.replace('"m"', '"upstream-model"'))
    expect(request?.headers.authorization).not.toContain(gateway.key)
  })

  it("contains tool calls with their arguments", async () => {
    const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Solo"}' } }
    const response = completion({ usage: usage(5, 5) })
    gateway.upstream.next(
      json({
        ...response,
        choices: [
          { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" }
        ]
      })
    )
    const tools = [{ type: "function" as const, function: { name: "weather", parameters: { type: "object" } } }]
    const received = await client.chat.completions.create({ model: "m", messages: hello, tools })
    expect(received.choices[0]?.message.tool_calls).toEqual([call])
    expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ tools })
  })

  it("is parsed by the schema helper of the client", async () => {
    gateway.upstream.next(json(completion({ content: ['{"city":"Solo"}'], usage: usage(5, 5) })))
    const received = await client.chat.completions.parse({
      model: "m",
      messages: hello,
      response_format: zodResponseFormat(z.object({ city: z.string() }), "place")
    })
    expect(received.choices[0]?.message.parsed).toEqual({ city: "Solo" })
  })

  it("is returned for a request with an image", async () => {
    gateway.upstream.next(json(completion({ usage: usage(800, 2) })))
    const content = [
      { type: "text" as const, text: "What is this?" },
      { type: "image_url" as const, image_url: { url: `data:image/png;base64,${"iVBORw0KGgo".repeat(1_000)}` } }
    ]
    await client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] })
    expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ messages: [{ content }] })
  })

  it("without reported usage is charged by an approximate count if long runs of backslashes fill a large prompt", async () => {
    // Each run with the three letters after it has 376 tokens.
    const content = `${"\\".repeat(1_500)}xxx`.repeat(250)
    gateway.upstream.next(json(completion({ content: [" hello"] })))
    await client.chat.completions.create({ model: "m", messages: [{ role: "user", content }] })
    const { charged_input, usage_source } = await gateway.lastSettlement()
    expect(usage_source).toBe("local")
    expect(Number(charged_input) / (250 * 376)).toBeCloseTo(1, 1)
  })

  it("without reported usage is charged by a local count", async () => {
    gateway.upstream.next(json(completion({ content: [" hello".repeat(20)] })))
    const debit = await debitOf(async () => {
      const response = await client.chat.completions.create({ model: "m", messages: hello })
      expect(response.usage).toBeUndefined()
    })
    const settlement = await gateway.lastSettlement()
    expect(settlement).toMatchObject({ usage_source: "local", charged_output: 20n })
    expect(debit).toBe(settlement.charged_input + 40n)
  })
})

describe("a chat stream", () => {
  const parts = { content: ["Hel", "lo", "!"], usage: usage(7, 3) }

  it("has one chunk for each delta of the upstream", async () => {
    gateway.upstream.next(stream(chatFrames(parts)))
    const debit = await debitOf(async () => {
      const chunks = await readAll(await client.chat.completions.create({ model: "m", messages: hello, stream: true }))
      const deltas = chunks.map((each) => each.choices[0]?.delta.content ?? "").filter((content) => content !== "")
      expect(deltas).toEqual(["Hel", "lo", "!"])
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
      expect(chunks.every(({ model }) => model === "m")).toBe(true)
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop")
    })
    expect(debit).toBe(7n + 2n * 3n)
  })

  it.each([
    ["absent", undefined, 0],
    ["{ include_usage: false }", { include_usage: false }, 0],
    ["null", null, 0],
    ["{ include_usage: true }", { include_usage: true }, 1]
  ])("has a usage chunk only if include_usage is true (stream_options: %s)", async (_, stream_options, expected) => {
    gateway.upstream.next(stream(chatFrames(parts)))
    const debit = await debitOf(async () => {
      const chunks = await readAll(
        await client.chat.completions.create({
          model: "m",
          messages: hello,
          stream: true,
          ...(stream_options === undefined ? {} : { stream_options })
        })
      )
      const usageChunks = chunks.filter((each) => each.choices.length === 0)
      expect(usageChunks).toHaveLength(expected)
      expect(chunks.filter((each) => each.usage !== undefined && each.usage !== null)).toHaveLength(expected)
      if (expected === 1)
        expect(chunks.at(-1)?.usage).toEqual({ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })
    })
    expect(debit).toBe(13n)
    expect(gateway.upstream.requests.at(-1)?.json()).toMatchObject({ stream_options: { include_usage: true } })
  })

  it("has no usage chunk when the upstream reports no usage", async () => {
    gateway.upstream.next(stream(chatFrames({ content: [" hello", " hello"] })))
    const chunks = await readAll(
      await client.chat.completions.create({
        model: "m",
        messages: hello,
        stream: true,
        stream_options: { include_usage: true }
      })
    )
    expect(chunks.every((each) => each.choices.length === 1)).toBe(true)
    expect(await gateway.lastSettlement()).toMatchObject({ usage_source: "local", charged_output: 2n })
  })

  it("with tool calls is assembled by the client's stream helper", async () => {
    gateway.upstream.next(
      stream([
        chunk({
          role: "assistant",
          tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }]
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '"Solo"}' } }] }),
        chunk({}, "tool_calls"),
        usageChunk(usage(9, 6))
      ])
    )
    const tools = [{ type: "function" as const, function: { name: "weather", parameters: { type: "object" } } }]
    const final = await client.chat.completions.stream({ model: "m", messages: hello, tools }).finalChatCompletion()
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: "weather", arguments: '{"city":"Solo"}' }
    })
  })

  it("is charged for cached tokens as cache reads", async () => {
    gateway.upstream.next(stream(chatFrames({ content: ["x"], usage: usage(100, 1, 60) })))
    await readAll(await client.chat.completions.create({ model: "m", messages: hello, stream: true }))
    expect(await gateway.lastSettlement()).toMatchObject({
      charged_input: 40n,
      charged_cache_read: 60n,
      charged_output: 1n
    })
  })
})

describe("every response in this file", () => {
  it("contains no provider name, provider host, key or cost", () => {
    expect(gateway.leaks).toEqual([])
  })
})
