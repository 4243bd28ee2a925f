import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as SimulatedUpstream from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Scope } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import OpenAI from "openai"
import { zodTextFormat } from "openai/helpers/zod"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"

const scope = Effect.runSync(Scope.make())
let client: OpenAI

beforeAll(async () => {
  const started = SimulatedUpstream.start({ pace: 0 }).pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  const { baseUrl } = await Effect.runPromise(started)
  client = new OpenAI({ baseURL: baseUrl, apiKey: "sk-any", maxRetries: 0 })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const hello = { model: "any-model", input: "Good morning, gateway" }
const weather = {
  type: "function" as const,
  name: "get_weather",
  strict: false,
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 } },
    required: ["city", "days"]
  }
}

describe("a simulated response", () => {
  it("repeats the prompt and states that it is a simulation", async () => {
    const { data, response } = await client.responses.create(hello).withResponse()
    expect(response.headers.get("x-simulated-upstream")).toBe("true")
    expect(data.output_text).toContain("simulation")
    expect(data.output_text).toContain("Good morning, gateway")
    expect(data.status).toBe("completed")
    expect(data.usage?.output_tokens).toBe(countTokens(data.output_text))
    expect(data.usage?.input_tokens).toBe(3 + countTokens("userGood morning, gateway") + 3)
    expect(data.usage?.total_tokens).toBe((data.usage?.input_tokens ?? 0) + (data.usage?.output_tokens ?? 0))
  })

  it("repeats a prompt of a string, messages or message parts", async () => {
    const inputs = [
      hello.input,
      [{ role: "user" as const, content: hello.input }],
      [{ role: "user" as const, content: [{ type: "input_text" as const, text: hello.input }] }],
      [{ type: "input_text", text: hello.input }] as unknown as OpenAI.Responses.ResponseInput
    ]
    for (const input of inputs) {
      expect((await client.responses.create({ model: "m", input })).output_text).toContain(hello.input)
    }
  })

  it("streams the same text in small pieces", async () => {
    const plain = await client.responses.create(hello)
    const stream = client.responses.stream(hello)
    const events: Array<OpenAI.Responses.ResponseStreamEvent> = []
    for await (const event of stream) events.push(event)
    const final = await stream.finalResponse()
    expect(final.output_text).toBe(plain.output_text)
    expect(final.usage?.output_tokens).toBe(countTokens(plain.output_text))
    const deltas = events.filter(({ type }) => type === "response.output_text.delta")
    expect(deltas.length).toBeGreaterThan(30)
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed"
    ])
    expect(events.map((event) => "sequence_number" in event && event.sequence_number)).toEqual(events.map((_, i) => i))
  })

  it("stops at the requested token limit", async () => {
    const plain = await client.responses.create({ ...hello, max_output_tokens: 7 })
    const streamed = await client.responses.stream({ ...hello, max_output_tokens: 7 }).finalResponse()
    for (const { status, incomplete_details, output_text, usage } of [plain, streamed]) {
      expect([status, incomplete_details?.reason]).toEqual(["incomplete", "max_output_tokens"])
      expect(usage?.output_tokens).toBeLessThanOrEqual(7)
      expect(countTokens(output_text)).toBe(usage?.output_tokens)
      expect(usage?.output_tokens).toBeGreaterThan(3)
    }
  })

  it("reports the tokens of an earlier conversation as cached", async () => {
    const opening = { role: "user" as const, content: `a story of ${process.hrtime.bigint()}` }
    const respond = (...more: OpenAI.Responses.ResponseInput) =>
      client.responses.create({ model: "m", instructions: "Be brief.", input: [opening, ...more] })
    const first = await respond()
    const again = await respond()
    const longer = await respond({ role: "user", content: "go on" })
    expect(first.usage?.input_tokens_details.cached_tokens).toBe(0)
    expect(again.usage?.input_tokens_details.cached_tokens).toBe(first.usage?.input_tokens)
    expect(longer.usage?.input_tokens_details.cached_tokens).toBe(first.usage?.input_tokens)
    expect(longer.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0)
  })

  it("calls the required tool with the required arguments", async () => {
    for (const tool_choice of ["required" as const, { type: "function" as const, name: "get_weather" }]) {
      const request = { ...hello, tools: [weather], tool_choice }
      const plain = await client.responses.create(request)
      const streamed = await client.responses.stream(request).finalResponse()
      for (const { output } of [plain, streamed]) {
        const [call] = output
        expect(call).toMatchObject({ type: "function_call", name: "get_weather", status: "completed" })
        expect(call?.type === "function_call" && JSON.parse(call.arguments)).toEqual({ city: "simulated", days: 3 })
      }
    }
  })

  it("contains text if no tool call is required", async () => {
    expect((await client.responses.create({ ...hello, tools: [weather] })).output[0]?.type).toBe("message")
  })

  it("calls a tool that the user names", async () => {
    const please = { role: "user" as const, content: "Call get_weather for Solo." }
    const { output } = await client.responses.create({ model: "m", input: [please], tools: [weather] })
    const [call] = output
    if (call?.type !== "function_call") throw new Error("no tool was called")
    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "31 degrees" }
    const after = await client.responses.create({ model: "m", input: [please, call, result], tools: [weather] })
    expect(after.output_text).toContain("Call get_weather for Solo.")
  })

  it("contains reasoning before its text if the request enables it", async () => {
    const include = ["reasoning.encrypted_content" as const]
    for (const [reasoning, summaries] of [
      [{ effort: "low" as const }, 0],
      [{ summary: "auto" as const }, 1]
    ] as const) {
      const request = { ...hello, include, reasoning }
      const plain = await client.responses.create(request)
      const streamed = await client.responses.stream(request).finalResponse()
      for (const { output, output_text, usage } of [plain, streamed]) {
        expect(output.map(({ type }) => type)).toEqual(["reasoning", "message"])
        const [thought] = output
        expect(thought).toMatchObject({ encrypted_content: "simulated" })
        expect(thought?.type === "reasoning" && thought.summary).toHaveLength(summaries)
        const thoughtTokens = usage?.output_tokens_details.reasoning_tokens ?? 0
        expect(thoughtTokens).toBeGreaterThan(5)
        expect(usage?.output_tokens).toBe(thoughtTokens + countTokens(output_text))
      }
      expect(streamed.usage).toMatchObject({ output_tokens: plain.usage?.output_tokens })
    }
  })

  it("matches the requested JSON schema", async () => {
    const Recipe = z.object({ title: z.string(), minutes: z.number().int(), kind: z.enum(["cook", "wait"]) })
    const text = { format: zodTextFormat(Recipe, "recipe") }
    expect((await client.responses.parse({ ...hello, text })).output_parsed).toMatchObject({ kind: "cook" })
    expect((await client.responses.stream({ ...hello, text }).finalResponse()).output_parsed?.kind).toBe("cook")
    const { output_text } = await client.responses.create({ ...hello, text: { format: { type: "json_object" } } })
    expect(JSON.parse(output_text)).toEqual({ simulated: true })
  })

  it("is refused if the request is invalid", async () => {
    await expect(client.responses.create({ model: "m", input: "" })).rejects.toMatchObject({ status: 400 })
    await expect(client.responses.create({ model: "m", input: [] })).rejects.toMatchObject({ status: 400 })
    const unknown = { type: "function" as const, name: "unknown" }
    await expect(client.responses.create({ ...hello, tools: [weather], tool_choice: unknown })).rejects.toMatchObject({
      status: 400
    })
  })
})
