import Anthropic from "@anthropic-ai/sdk"
import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as SimulatedUpstream from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Scope } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const scope = Effect.runSync(Scope.make())
let client: Anthropic

beforeAll(async () => {
  const started = SimulatedUpstream.start({ pace: 0 }).pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  const { baseUrl } = await Effect.runPromise(started)
  client = new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ""), apiKey: "sk-any", maxRetries: 0 })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const hello = {
  model: "any-model",
  max_tokens: 1_000,
  messages: [{ role: "user" as const, content: "Good morning, gateway" }]
}
const weather = {
  name: "get_weather",
  input_schema: {
    type: "object" as const,
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 } },
    required: ["city", "days"]
  }
}
const textOf = ({ content }: Anthropic.Message) =>
  content.flatMap((block) => (block.type === "text" ? block.text : [])).join("")

describe("a simulated message", () => {
  it("repeats the prompt and states that it is a simulation", async () => {
    const { data, response } = await client.messages.create(hello).withResponse()
    expect(response.headers.get("x-simulated-upstream")).toBe("true")
    expect(textOf(data)).toContain("simulation")
    expect(textOf(data)).toContain("Good morning, gateway")
    expect(data.stop_reason).toBe("end_turn")
    expect(data.usage.output_tokens).toBe(countTokens(textOf(data)))
    const { model, messages } = hello
    expect(data.usage.input_tokens).toBe((await client.messages.countTokens({ model, messages })).input_tokens)
    expect(data.usage.input_tokens).toBeGreaterThan(4)
  })

  it("streams the same text in small pieces", async () => {
    const plain = await client.messages.create(hello)
    const events: Array<Anthropic.RawMessageStreamEvent> = []
    const stream = client.messages.stream(hello).on("streamEvent", (event) => events.push(event))
    const final = await stream.finalMessage()
    expect(final).toMatchObject({ content: plain.content, stop_reason: plain.stop_reason, usage: plain.usage })
    expect(events.filter(({ type }) => type === "content_block_delta").length).toBeGreaterThan(30)
    expect(events.at(-1)?.type).toBe("message_stop")
  })

  it("stops at the requested token limit", async () => {
    const message = await client.messages.create({ ...hello, max_tokens: 7 })
    expect(message.stop_reason).toBe("max_tokens")
    expect(message.usage.output_tokens).toBeLessThanOrEqual(7)
    expect(message.usage.output_tokens).toBe(countTokens(textOf(message)))
  })

  it("contains reasoning before its text if the request enables it", async () => {
    const request = { ...hello, thinking: { type: "adaptive" as const } }
    const plain = await client.messages.create(request)
    const streamed = await client.messages.stream(request).finalMessage()
    for (const { content } of [plain, streamed]) {
      expect(content.map(({ type }) => type)).toEqual(["thinking", "text"])
      expect(content[0]).toMatchObject({ thinking: expect.stringContaining("reasoning"), signature: "simulated" })
    }
    expect(streamed.usage).toEqual(plain.usage)
  })

  it("calls the required tool with the required input", async () => {
    for (const tool_choice of [{ type: "any" as const }, { type: "tool" as const, name: "get_weather" }]) {
      const request = { ...hello, tools: [weather], tool_choice }
      const plain = await client.messages.create(request)
      const streamed = await client.messages.stream(request).finalMessage()
      for (const { content, stop_reason } of [plain, streamed]) {
        expect(stop_reason).toBe("tool_use")
        expect(content[0]).toMatchObject({
          type: "tool_use",
          name: "get_weather",
          input: { city: "simulated", days: 3 }
        })
      }
    }
    const { content } = await client.messages.create({ ...hello, tools: [weather] })
    expect(content[0]?.type).toBe("text")
  })

  it("calls a tool that the user names", async () => {
    const please = {
      role: "user" as const,
      content: [
        { type: "text" as const, text: "<reminder>Call a doctor.</reminder>" },
        { type: "text" as const, text: "Use get_weather for Solo." }
      ]
    }
    const tools = [weather, { type: "web_search_20250305" as const, name: "web_search" as const }]
    const { content } = await client.messages.create({ ...hello, messages: [please], tools })
    const [call] = content
    if (call?.type !== "tool_use") throw new Error("no tool was called")
    const result = { type: "tool_result" as const, tool_use_id: call.id, content: "31 degrees" }
    const reminder = { type: "text" as const, text: "Use get_weather when in doubt." }
    const messages = [
      please,
      { role: "assistant" as const, content },
      { role: "user" as const, content: [result, reminder] }
    ]
    expect((await client.messages.create({ ...hello, messages, tools })).content[0]?.type).toBe("text")
  })

  it("repeats the last text of the user", async () => {
    const parts = ["<reminder>It is Friday.</reminder>", "Good evening"].map((text) => ({
      type: "text" as const,
      text
    }))
    const text = textOf(await client.messages.create({ ...hello, messages: [{ role: "user", content: parts }] }))
    expect(text).toContain('"Good evening"')
    expect(text).not.toContain("Friday")
  })

  it("matches the requested JSON schema", async () => {
    const schema = { type: "object", properties: { vegan: { type: "boolean" } }, required: ["vegan"] }
    const message = await client.messages.create({
      ...hello,
      output_config: { format: { type: "json_schema", schema } }
    })
    expect(JSON.parse(textOf(message))).toEqual({ vegan: true })
  })

  it("uses the prompt cache if the request contains `cache_control`", async () => {
    const story = `a story of ${process.hrtime.bigint()}`
    const marked = { type: "text" as const, text: story, cache_control: { type: "ephemeral" as const } }
    const request = { ...hello, messages: [{ role: "user" as const, content: [marked] }] }
    const first = (await client.messages.create(request)).usage
    const again = (await client.messages.stream(request).finalMessage()).usage
    const prompt = first.input_tokens + (first.cache_creation_input_tokens ?? 0)
    expect(first).toMatchObject({ input_tokens: 3, cache_read_input_tokens: 0 })
    expect(again).toMatchObject({ input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: prompt })
    const unmarked = await client.messages.create({ ...hello, messages: [{ role: "user", content: story }] })
    expect(unmarked.usage.cache_read_input_tokens).toBe(0)
  })

  it("is refused if the request is invalid", async () => {
    const refused = async (members: object) =>
      await client.messages.create({ ...hello, ...members }).then(
        () => undefined,
        (error) => error
      )
    expect(await refused({ messages: [] })).toBeInstanceOf(Anthropic.BadRequestError)
    expect(await refused({ max_tokens: undefined })).toMatchObject({ status: 400, type: "invalid_request_error" })
    expect(await refused({ tools: [], tool_choice: { type: "any" } })).toMatchObject({ status: 400 })
  })
})
