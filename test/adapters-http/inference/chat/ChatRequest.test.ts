import { chatBodyFor, readChatRequest } from "@tollgate/adapters-http/inference/chat/ChatRequest"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"

const messages = [{ role: "user", content: "hi" }]
const read = (body: unknown) =>
  runSlices(readChatRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body))))
const accepted = (body: unknown) => Either.getOrThrow(read(body))
const refusedParam = (body: unknown) =>
  Either.match(read(body), { onLeft: ({ param }) => param, onRight: () => "accepted" })
const sentBody = (body: unknown, upstreamModel = "up/model") =>
  Buffer.from(chatBodyFor(accepted(body), upstreamModel)).toString()

describe("a chat request", () => {
  it("is read with its model, its stream flag and its usage flag", () => {
    const request = { model: "m", messages, stream: true, stream_options: { include_usage: true } }
    expect(accepted(request)).toMatchObject({ model: "m", streamed: true, includeUsage: true })
    expect(accepted({ model: "m", messages })).toMatchObject({ streamed: false, includeUsage: false })
    expect(accepted({ model: "m", messages, stream: null, stream_options: null })).toMatchObject({ streamed: false })
  })

  it("can have a model name with JSON escapes", () => {
    expect(accepted(`{"model":"a\\u002fb","messages":[{"role":"user"}]}`).model).toBe("a/b")
  })

  it.each([
    ["model", { messages }],
    ["model", { model: "", messages }],
    ["model", { model: 5, messages }],
    ["model", { model: null, messages }],
    ["messages", { model: "m" }],
    ["messages", { model: "m", messages: [] }],
    ["messages", { model: "m", messages: {} }],
    ["messages", { model: "m", messages: "hi" }],
    ["messages[1]", { model: "m", messages: [...messages, "hi"] }],
    ["messages[1].role", { model: "m", messages: [...messages, { content: "hi" }] }],
    ["messages[0].role", { model: "m", messages: [{ role: null, content: "hi" }] }],
    ["stream", { model: "m", messages, stream: "true" }],
    ["stream", { model: "m", messages, stream: 1 }],
    ["stream_options", { model: "m", messages, stream: true, stream_options: [] }],
    ["stream_options", { model: "m", messages, stream_options: true }],
    ["stream_options.include_usage", { model: "m", messages, stream_options: { include_usage: "yes" } }],
    ["max_tokens", { model: "m", messages, max_tokens: 1.5 }],
    ["max_tokens", { model: "m", messages, max_tokens: "10" }],
    ["max_completion_tokens", { model: "m", messages, max_completion_tokens: {} }],
    ["n", { model: "m", messages, n: "2" }],
    ["max_tokens", '{"model":"m","messages":[{"role":"user"}],"max_tokens":1e400}'],
    ["model", '{"model":"m","messages":[{"role":"user"}],"model":"n"}'],
    ["model", '{"model":"m","messages":[{"role":"user"}],"\\u006dodel":"n"}'],
    ["model", '{"model":"m","messages":[{"role":"user"}],"Model":"n"}'],
    ["stream", '{"model":"m","messages":[{"role":"user"}],"\\u017ftream":true}'],
    ["stream_options.include_usage", { model: "m", messages, stream_options: { INCLUDE_USAGE: false } }],
    [
      "stream_options.include_usage",
      '{"model":"m","messages":[{"role":"user"}],"stream_options":{"include_usage":true,"include_usage":false}}'
    ],
    ["models", { model: "m", messages, models: ["larger"] }],
    ["models", '{"model":"m","messages":[{"role":"user"}],"Models":["larger"]}'],
    ["fallbacks", { model: "m", messages, fallbacks: [{ model: "larger" }] }],
    [null, ""],
    [null, "[]"],
    [null, "{"],
    [null, '{"model":"m","messages":[{"role":"user"}]} x']
  ])("is refused with the error param %s: %j", (param, body) => {
    expect(refusedParam(body)).toBe(param)
  })

  it.each([
    [{ max_tokens: 10 }, 10],
    [{ max_completion_tokens: 20, max_tokens: 10 }, 20],
    [{ max_tokens: null }, undefined],
    [{}, undefined],
    [{ max_tokens: -1 }, undefined]
  ])("with %j has the output limit %s", (limits, limit) => {
    expect(accepted({ model: "m", messages, ...limits }).size.maxOutputTokens).toBe(limit)
  })

  it("has a size that counts only the members that a model reads", () => {
    const image = `data:image/png;base64,${"iVBORw0KGgo".repeat(1_000)}`
    const request = {
      model: "m",
      n: 3,
      user: "not read".repeat(1_000),
      messages: [
        { role: "user", content: "twelve bytes" },
        { role: "user", content: [{ type: "image_url", image_url: { url: image } }] }
      ],
      tools: [{ type: "function", function: { name: "f" } }]
    }
    // The size includes the roles, the text, the types and the function name, but neither `user` nor the image.
    expect(accepted(request).size).toEqual({
      textBytes: 4 + 12 + 4 + "image_url".length + 8 + 1,
      structureBytes: 126,
      attachments: 1,
      hasUnsizedContent: false,
      maxOutputTokens: undefined,
      choices: 3
    })
    expect(accepted(request).promptText().text).toContain("twelve bytes")
  })
})

it("a large chat request has a sampled prompt without types and ids", () => {
  const text = "word ".repeat(150_000)
  const call = { id: `call_${"1".repeat(24)}`, type: "function", function: { name: "look", arguments: "{}" } }
  const messages = [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: call.id, content: [{ type: "text", text }] }
  ]
  const { sampleOf, extraTokens } = accepted({ model: "m", messages }).promptText()
  expect(sampleOf?.textBytes).toBe("assistantlook{}tool".length + text.length)
  expect(extraTokens).toBe(3 + 2 * 3)
})

describe("a chat request with a content part", () => {
  it.each([
    ["file", true],
    ["input_audio", true],
    ["video_url", true],
    ["image_url", false],
    ["text", false]
  ])("of type %s has unsized content: %s", (type, isUnsized) => {
    const request = { model: "m", messages: [{ role: "user", content: [{ type }] }] }
    expect(accepted(request).size.hasUnsizedContent).toBe(isUnsized)
  })
})

describe("the hosted tools of a chat request", () => {
  const toolsOf = (members: object) =>
    accepted({ model: "m", messages: [{ role: "user", content: "hi" }], ...members }).hostedTools

  it.each([
    ["a function and a custom tool", { tools: [{ type: "function" }, { type: "custom" }, { function: {} }, null] }],
    [
      "members that are null, empty or false",
      { tools: null, web_search_options: null, plugins: [], enable_search: false }
    ]
  ])("are empty for %s", (_, members) => {
    expect(toolsOf(members)).toEqual([])
  })

  it.each([
    ["web_search_options", "web_search", { web_search_options: {} }],
    ["search_parameters", "web_search", { search_parameters: { mode: "auto" } }],
    ["enable_search", "web_search", { enable_search: true }],
    ["plugins", "plugins", { plugins: [{ id: "web" }] }],
    ["tools", "web_search", { tools: [{ type: "function" }, { type: "web_search" }] }],
    ["tools", "builtin_function", { tools: [{ type: "builtin_function" }] }],
    ["tools", "openrouter:web_search", { tools: [{ type: "openrouter:web_search" }] }]
  ])("are found in %s with the name %s", (param, name, members) => {
    expect(toolsOf(members)).toEqual([{ name, param }])
  })
})

describe("the chat body for a provider", () => {
  it("without a stream differs from the client's body only in the model name", () => {
    expect(
      sentBody('{ "messages":[{"role":"user","content":"model"}], "x":1e2,"model" : "m" ,"seed":12345678901234567890}')
    ).toBe(
      '{ "messages":[{"role":"user","content":"model"}], "x":1e2,"model" : "up/model" ,"seed":12345678901234567890}'
    )
  })

  it("encodes the model name as JSON", () => {
    expect(JSON.parse(sentBody({ model: "m", messages }, 'a"\\\u2028b')).model).toBe('a"\\\u2028b')
  })

  it.each([
    ["", '{"model":"up/model","stream_options":{"include_usage":true},"stream":true'],
    [',"stream_options":null', '{"model":"up/model","stream":true,"stream_options":{"include_usage":true}'],
    [',"stream_options":{ }', '{"model":"up/model","stream":true,"stream_options":{"include_usage":true }'],
    [
      ',"stream_options":{"a":[1]}',
      '{"model":"up/model","stream":true,"stream_options":{"include_usage":true,"a":[1]}'
    ],
    [
      ',"stream_options":{"a":1, "include_usage" : false}',
      '{"model":"up/model","stream":true,"stream_options":{"a":1, "include_usage" : true}'
    ],
    [
      ',"stream_options":{"include_usage":null}',
      '{"model":"up/model","stream":true,"stream_options":{"include_usage":true}'
    ]
  ])("requests usage for a stream with the options %j", (options, expected) => {
    const tail = ',"messages":[{"role":"user"}]}'
    expect(sentBody(`{"model":"m","stream":true${options}${tail}`)).toBe(`${expected}${tail}`)
  })

  const value = FastCheck.jsonValue({ maxDepth: 2 })
  const members = FastCheck.dictionary(FastCheck.fullUnicodeString(), value, { maxKeys: 4 }).filter(
    (it) =>
      !Object.keys(it).some((key) =>
        /^(?:model|messages|stream|stream_options|n|tools|functions|max_(?:completion_)?tokens|response_format)$/i.test(
          key
        )
      )
  )
  property(
    "keeps all other members in their order",
    [members, members, FastCheck.boolean(), FastCheck.constantFrom(0, 2)],
    (before, after, stream, indent) => {
      const body = { ...before, stream, model: "m", ...after, messages }
      const sent = sentBody(JSON.stringify(body, null, indent))
      const { stream_options: options, ...rest } = JSON.parse(sent)
      return (
        JSON.stringify(rest) === JSON.stringify({ ...body, model: "up/model" }) &&
        JSON.stringify(options) === (stream ? '{"include_usage":true}' : undefined)
      )
    }
  )
})
