import { withUpstreamModel } from "@tollgate/adapters-http/inference/relay/UpstreamRequestParts"
import { readResponsesRequest } from "@tollgate/adapters-http/inference/responses/ResponsesRequest"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"

const read = (body: unknown) =>
  runSlices(readResponsesRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body))))
const accepted = (body: unknown) => Either.getOrThrow(read(body))
const refusedParam = (body: unknown) =>
  Either.match(read(body), { onLeft: ({ param }) => param, onRight: () => "accepted" })
const sentBody = (body: unknown, upstreamModel = "up/model") =>
  Buffer.from(withUpstreamModel(accepted(body), upstreamModel)).toString()

describe("a responses request", () => {
  it("is read with its model and its stream flag", () => {
    expect(accepted({ model: "m", input: "hi", stream: true })).toMatchObject({ model: "m", streamed: true })
    for (const stream of [undefined, null, false]) {
      expect(accepted({ model: "m", input: "hi", stream })).toMatchObject({ streamed: false })
    }
  })

  it.each([
    ["a string", "hi"],
    ["messages", [{ role: "user", content: "hi" }]],
    ["content parts", [{ type: "input_text", text: "hi" }]],
    [
      "items of unexpected shapes",
      [{ type: "item_reference", id: "msg_1" }, { type: "brand_new", x: 1 }, "odd", null, 7]
    ]
  ])("is accepted with %s as its input", (_, input) => {
    expect(refusedParam({ model: "m", input })).toBe("accepted")
  })

  it("is accepted if its other members have unexpected shapes", () => {
    const others = {
      instructions: [{ role: "developer", content: "x" }],
      tools: [{ type: "web_search" }, { type: "function", name: "image_generation" }, "image_generation", null],
      text: null,
      store: "maybe",
      include: {},
      previous_response_id: "resp_1",
      background: false,
      tool_choice: { type: "image_generation" },
      metadata: { background: true, model: "n" }
    }
    expect(refusedParam({ model: "m", input: "hi", ...others })).toBe("accepted")
  })

  it.each([
    ["model", { input: "hi" }],
    ["model", { model: "", input: "hi" }],
    ["model", { model: 5, input: "hi" }],
    ["input", { model: "m" }],
    ["input", { model: "m", input: null }],
    ["input", { model: "m", input: "" }],
    ["input", { model: "m", input: [] }],
    ["input", { model: "m", input: {} }],
    ["input", { model: "m", input: 7 }],
    ["stream", { model: "m", input: "hi", stream: "true" }],
    ["stream", { model: "m", input: "hi", stream: 1 }],
    ["max_output_tokens", { model: "m", input: "hi", max_output_tokens: 1.5 }],
    ["max_output_tokens", { model: "m", input: "hi", max_output_tokens: "10" }],
    ["background", { model: "m", input: "hi", background: true }],
    ["background", { model: "m", input: "hi", background: "true" }],
    ["tools", { model: "m", input: "hi", tools: [{ type: "function" }, { type: "image_generation", model: "n" }] }],
    ["tools", '{"model":"m","input":"hi","tools":[{"type":"image\\u005fgeneration"}]}'],
    ["model", '{"model":"m","input":"hi","model":"n"}'],
    ["input", '{"model":"m","input":"hi","input":"ho"}'],
    ["input", '{"model":"m","input":"hi","Input":"ho"}'],
    ["background", '{"model":"m","input":"hi","background":false,"back\\u0067round":true}'],
    ["text.format", '{"model":"m","input":"hi","text":{"format":{},"format":{}}}'],
    ["models", { model: "m", input: "hi", models: ["larger"] }],
    ["fallbacks", { model: "m", input: "hi", fallbacks: ["larger"] }],
    [null, ""],
    [null, "[]"],
    [null, '{"model":"m","input":"hi"']
  ])("is refused with the error param %s: %j", (param, body) => {
    expect(refusedParam(body)).toBe(param)
  })

  it.each([
    [10, 10],
    [null, undefined],
    [undefined, undefined],
    [0, undefined],
    [-1, undefined]
  ])("with max_output_tokens %s has the output limit %s", (max_output_tokens, limit) => {
    expect(accepted({ model: "m", input: "hi", max_output_tokens }).size.maxOutputTokens).toBe(limit)
  })

  it.each([
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["conversation", { conversation: { id: "conv_1" } }],
    ["prompt", { prompt: { id: "pmpt_1" } }],
    ["an uploaded file", { input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }] }],
    [
      "a linked file",
      { input: [{ role: "user", content: [{ type: "input_file", file_url: "https://a.example/b" }] }] }
    ],
    ["a stored item", { input: [{ type: "item_reference", id: "msg_1" }] }]
  ])("has unsized content if it contains %s", (_, members) => {
    expect(accepted({ model: "m", input: "hi", ...members }).size.hasUnsizedContent).toBe(true)
  })

  it("has no unsized content if its references to stored content are null", () => {
    const members = { previous_response_id: null, conversation: null, prompt: null }
    expect(accepted({ model: "m", input: "hi", ...members }).size.hasUnsizedContent).toBe(false)
  })

  it.each([
    [["function", "custom", "local_shell", "apply_patch", "namespace", "tool_search"], []],
    [["computer", "computer_use_preview", "computer_use_preview_2025_03_11"], []],
    [["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"], ["web_search"]],
    [
      ["file_search", "code_interpreter", "mcp"],
      ["file_search", "code_interpreter", "mcp"]
    ],
    [["shell"], ["shell"]],
    [["x_search"], ["x_search"]]
  ])("with tools of the types %j has the hosted tools %j", (types, found) => {
    const tools = types.map((type) => ({ type }))
    expect(accepted({ model: "m", input: "hi", tools }).hostedTools?.map(({ name }) => name)).toEqual(found)
  })

  const local = { type: "shell", environment: { type: "local" } }
  const lookup = { type: "function", name: "f", parameters: { type: "object", environment: { type: "x" } } }
  it.each([
    [[], [local]],
    [[], [lookup, local, lookup, local]],
    [["shell"], [{ type: "shell", environment: null }]],
    [["shell"], [{ type: "shell", environment: "local" }]],
    [["shell"], [{ type: "shell", environment: { type: "container_auto" } }]],
    [["shell"], [local, { type: "shell" }]],
    [["shell"], [local, { type: "shell_20260101", environment: { type: "container_auto" } }]],
    [["mcp"], [local, { type: "mcp" }]]
  ])("has the hosted tools %j with the tools %j", (found, tools) => {
    expect(accepted({ model: "m", input: "hi", tools }).hostedTools?.map(({ name }) => name)).toEqual(found)
  })

  it("finds a hosted shell among large tools", () => {
    const large = { ...lookup, description: "a".repeat(100_000) }
    const hosted = (...tools: ReadonlyArray<object>) => accepted({ model: "m", input: "hi", tools }).hostedTools
    expect(hosted(large, local, large, local)).toEqual([])
    expect(hosted(large, local, large, { type: "shell" })).toEqual([{ name: "shell", param: "tools" }])
  })

  it.each([
    '{"type":"shell","environment":{"type":"local"},"environment":{"type":"container_auto"}}',
    '{"type":"shell","environment":{"type":"container_auto","type":"local"}}',
    '{"type":"shell","Environment":{"type":"container_auto"},"environment":{"type":"local"}}',
    '{"type":"function","Type":"shell","environment":{"type":"container_auto"}}',
    '{"type":"function","type":"shell","environment":{"type":"local"}}'
  ])("has a hosted shell if its environment is ambiguous: %s", (tool) => {
    const body = `{"model":"m","input":"hi","tools":[${JSON.stringify(local)},${tool}]}`
    expect(accepted(body).hostedTools).toEqual([{ name: "shell", param: "tools" }])
  })

  it.each([
    ["additional_tools", ["web_search", "code_interpreter"], ["web_search", "code_interpreter"]],
    ["tool_search_output", ["function", "mcp"], ["mcp"]],
    ["additional_tools", ["function", "custom", "namespace"], []]
  ])("with an input item %s that has tools of the types %j has the hosted tools %j", (type, types, found) => {
    const filler = { role: "user", content: "a".repeat(100_000) }
    const item = { type, role: "developer", tools: types.map((type) => ({ type })) }
    const expected = found.map((name) => ({ name, param: "input" }))
    expect(accepted({ model: "m", input: [item] }).hostedTools).toEqual(expected)
    expect(accepted({ model: "m", input: [filler, item, filler] }).hostedTools).toEqual(expected)
  })

  it("is refused if an input item adds the tool that generates images", () => {
    const item = { type: "additional_tools", role: "developer", tools: [{ type: "image_generation" }] }
    expect(refusedParam({ model: "m", input: [item] })).toBe("input")
  })

  it("has a sampled prompt without types and ids if it is large", () => {
    const text = "word ".repeat(150_000)
    const ids = { id: `fc_${"1".repeat(50)}`, call_id: `call_${"2".repeat(24)}`, status: "completed" }
    const call = { type: "function_call", ...ids, name: "look", arguments: "{}" }
    const message = { type: "message", role: "user", content: [{ type: "input_text", text }] }
    const { sampleOf, extraTokens } = accepted({ model: "m", input: [call, message] }).promptText()
    expect(sampleOf?.textBytes).toBe("look{}user".length + text.length)
    expect(extraTokens).toBe(3 + 2 * 3)
  })

  it("has the hosted tool of its plugins", () => {
    const hostedToolsWith = (plugins: unknown) => accepted({ model: "m", input: "hi", plugins }).hostedTools
    expect(hostedToolsWith([{ id: "web" }])).toEqual([{ name: "plugins", param: "plugins" }])
    expect(hostedToolsWith([])).toEqual([])
  })

  it("has a size that counts only the members that a model reads", () => {
    const image = `data:image/png;base64,${"iVBORw0KGgo".repeat(1_000)}`
    const request = {
      model: "m",
      metadata: { note: "not read".repeat(1_000) },
      instructions: "brief",
      input: [
        { role: "user", content: "twelve bytes" },
        { role: "user", content: [{ type: "input_image", image_url: image }] },
        { type: "reasoning", encrypted_content: "gAAAAABk".repeat(1_000) }
      ],
      tools: [{ type: "function", name: "f" }],
      text: { format: { type: "text" }, verbosity: "not read" }
    }
    const words = ["brief", "user", "twelve bytes", "user", "input_image", "reasoning", "function", "f", "text"]
    expect(accepted(request).size).toEqual({
      textBytes: words.join("").length,
      structureBytes: 155,
      attachments: 1,
      hasUnsizedContent: false,
      maxOutputTokens: undefined,
      choices: 1
    })
    expect(accepted(request).promptText().text).toContain("twelve bytes")
  })
})

describe("the responses body for a provider", () => {
  it("differs from the client's body only in the model name", () => {
    const body = (model: string) =>
      `{ "input":[{"role":"user","content":"model"}], "x":1e2,"model" : ${model} ,"stream":true,"n":12345678901234567890}`
    expect(sentBody(body('"m"'))).toBe(body('"up/model"'))
  })

  const value = FastCheck.jsonValue({ maxDepth: 2 })
  const scannedMembers = /^(?:model|input|instructions|stream|background|max_output_tokens|tools|text)$/i
  const members = FastCheck.dictionary(FastCheck.fullUnicodeString(), value, { maxKeys: 4 }).filter(
    (it) => !Object.keys(it).some((key) => scannedMembers.test(key))
  )
  property(
    "keeps all other members in their order",
    [members, members, FastCheck.boolean(), FastCheck.constantFrom(0, 2)],
    (before, after, stream, indent) => {
      const body = { ...before, stream, model: "m", ...after, input: "hi" }
      return (
        sentBody(JSON.stringify(body, null, indent)) === JSON.stringify({ ...body, model: "up/model" }, null, indent)
      )
    }
  )
})
