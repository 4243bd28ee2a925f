import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as SimulatedUpstream from "@tollgate/simulators/inference/SimulatedUpstream"
import { Effect, Exit, Scope } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import OpenAI from "openai"
import { zodResponseFormat } from "openai/helpers/zod"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { z } from "zod"

const scope = Effect.runSync(Scope.make())
let client: OpenAI
let baseUrl: string

beforeAll(async () => {
  const started = SimulatedUpstream.start({ pace: 0 }).pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  baseUrl = (await Effect.runPromise(started)).baseUrl
  client = new OpenAI({ baseURL: baseUrl, apiKey: "sk-any", maxRetries: 0 })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const hello = { model: "any-model", messages: [{ role: "user" as const, content: "Good morning, gateway" }] }
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 }, note: { type: "string" } },
      required: ["city", "days"]
    }
  }
}

const callWeather = [
  { role: "system" as const, content: "You may use get_weather_maps." },
  { role: "user" as const, content: "Please call get_weather." }
]

describe("a simulated chat completion", () => {
  it("repeats the prompt and states that it is a simulation", async () => {
    const { data, response } = await client.chat.completions.create(hello).withResponse()
    const [choice] = data.choices
    expect(response.headers.get("x-simulated-upstream")).toBe("true")
    expect(choice?.message.content).toContain("simulation")
    expect(choice?.message.content).toContain("Good morning, gateway")
    expect(choice?.finish_reason).toBe("stop")
    expect(data.usage?.completion_tokens).toBe(countTokens(choice?.message.content ?? ""))
    expect(data.usage?.prompt_tokens).toBeGreaterThan(4)
    expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0))
  })

  it("streams the same text in small pieces", async () => {
    const plain = await client.chat.completions.create(hello)
    for (const include_usage of [true, false]) {
      const stream = await client.chat.completions.create({ ...hello, stream: true, stream_options: { include_usage } })
      const chunks: Array<OpenAI.ChatCompletionChunk> = []
      for await (const chunk of stream) chunks.push(chunk)
      const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")
      expect(text).toBe(plain.choices[0]?.message.content)
      expect(chunks.length).toBeGreaterThan(30)
      expect(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])).toEqual(["stop"])
      const usages = chunks.flatMap((chunk) => chunk.usage ?? [])
      expect(usages.map((usage) => usage.completion_tokens)).toEqual(include_usage ? [countTokens(text)] : [])
      if (include_usage) expect(chunks.at(-1)?.choices).toEqual([])
    }
  })

  it("stops at the requested token limit", async () => {
    for (const limit of [{ max_tokens: 7 }, { max_completion_tokens: 7 }]) {
      const { choices, usage } = await client.chat.completions.create({ ...hello, ...limit })
      expect(choices[0]?.finish_reason).toBe("length")
      expect(usage?.completion_tokens).toBeLessThanOrEqual(7)
      expect(countTokens(choices[0]?.message.content ?? "")).toBe(usage?.completion_tokens)
      expect(usage?.completion_tokens).toBeGreaterThan(3)
    }
  })

  it("reports the tokens of an earlier conversation as cached", async () => {
    const opening = { role: "user" as const, content: `a story of ${process.hrtime.bigint()}` }
    const first = await client.chat.completions.create({ model: "m", messages: [opening] })
    const again = await client.chat.completions.create({ model: "m", messages: [opening] })
    const longer = await client.chat.completions.create({
      model: "m",
      messages: [opening, { role: "assistant", content: "once upon a time" }, { role: "user", content: "go on" }]
    })
    expect(first.usage?.prompt_tokens_details?.cached_tokens).toBe(0)
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBe(first.usage?.prompt_tokens)
    expect(longer.usage?.prompt_tokens_details?.cached_tokens).toBe(first.usage?.prompt_tokens)
    expect(longer.usage?.prompt_tokens).toBeGreaterThan(first.usage?.prompt_tokens ?? 0)
  })

  it("calls the required tool with the required arguments", async () => {
    const named = { type: "function" as const, function: { name: "get_weather" } }
    for (const tool_choice of ["required" as const, named]) {
      const request = { ...hello, tools: [weather], tool_choice }
      const plain = await client.chat.completions.create(request)
      const streamed = await client.chat.completions.stream(request).finalChatCompletion()
      for (const { choices } of [plain, streamed]) {
        const [call] = choices[0]?.message.tool_calls ?? []
        expect(choices[0]?.finish_reason).toBe("tool_calls")
        expect(call?.type === "function" && call.function.name).toBe("get_weather")
        expect(call?.type === "function" && JSON.parse(call.function.arguments)).toEqual({ city: "simulated", days: 3 })
      }
    }
  })

  it("calls no tool if the choice of tools is `none`", async () => {
    for (const messages of [hello.messages, callWeather]) {
      const tool_choice = messages === callWeather ? "none" : "auto"
      const { choices } = await client.chat.completions.create({ ...hello, messages, tools: [weather], tool_choice })
      expect(choices[0]?.message.tool_calls).toBeUndefined()
      expect(choices[0]?.finish_reason).toBe("stop")
    }
  })

  it("calls a tool that the user names", async () => {
    const { choices } = await client.chat.completions.create({ model: "m", messages: callWeather, tools: [weather] })
    const message = choices[0]?.message
    const [call] = message?.tool_calls ?? []
    if (message === undefined || call?.type !== "function") throw new Error("no tool was called")
    expect(call.function.name).toBe("get_weather")
    const result = { role: "tool" as const, tool_call_id: call.id, content: "31 degrees" }
    const after = await client.chat.completions.create({
      model: "m",
      messages: [...callWeather, message, result],
      tools: [weather]
    })
    expect(after.choices[0]?.message.content).toContain("Please call get_weather.")
  })

  it("reports the number of reasoning tokens if reasoning is requested", async () => {
    const { choices, usage } = await client.chat.completions.create({ ...hello, reasoning_effort: "low" })
    const thought = usage?.completion_tokens_details?.reasoning_tokens ?? 0
    expect(thought).toBeGreaterThan(5)
    expect(usage?.completion_tokens).toBe(thought + countTokens(choices[0]?.message.content ?? ""))
  })

  it("matches the requested JSON schema", async () => {
    const Step = z.object({ title: z.string(), minutes: z.number().int(), kind: z.enum(["cook", "wait"]) })
    const Recipe = z.object({ steps: z.array(Step), vegan: z.boolean(), note: z.string().nullable() })
    const parsed = await client.chat.completions.parse({
      ...hello,
      response_format: zodResponseFormat(Recipe, "recipe")
    })
    expect(parsed.choices[0]?.message.parsed?.steps.length).toBe(1)
    const { choices } = await client.chat.completions.create({ ...hello, response_format: { type: "json_object" } })
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ simulated: true })
  })

  it("is refused if the request is invalid", async () => {
    await expect(client.chat.completions.create({ model: "m", messages: [] })).rejects.toMatchObject({ status: 400 })
    await expect(
      client.chat.completions.create({ ...hello, tools: [], tool_choice: "required" })
    ).rejects.toMatchObject({ status: 400 })
    await expect(client.models.list()).rejects.toMatchObject({ status: 404 })
    const headers = { authorization: "Bearer x" }
    const statusOf = async (init: RequestInit) => (await fetch(`${baseUrl}/chat/completions`, init)).status
    expect(await statusOf({ method: "POST", body: "{", headers })).toBe(400)
    expect(await statusOf({ method: "POST", body: "[]", headers })).toBe(400)
    expect(await statusOf({ method: "POST", body: "{}" })).toBe(401)
    expect(await statusOf({ method: "GET", headers })).toBe(405)
  })
})

it("a simulated upstream sends its first chunk after more than 150 ms", async () => {
  const paced = await Effect.runPromise(
    SimulatedUpstream.start().pipe(Scope.extend(scope), Effect.provide(GptTokenCounter.layer))
  )
  const slow = new OpenAI({ baseURL: paced.baseUrl, apiKey: "sk-any" })
  const startedAt = performance.now()
  const stream = await slow.chat.completions.create({ ...hello, stream: true })
  let chunks = 0
  for await (const _ of stream) {
    chunks += 1
    if (chunks === 1) expect(performance.now() - startedAt).toBeGreaterThan(150)
    if (chunks === 4) break
  }
  expect(performance.now() - startedAt).toBeGreaterThan(200)
})
