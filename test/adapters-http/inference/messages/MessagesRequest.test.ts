import {
  messagesHeadersFor,
  readCountRequest,
  readMessagesRequest
} from "@tollgate/adapters-http/inference/messages/MessagesRequest"
import { withUpstreamModel } from "@tollgate/adapters-http/inference/relay/UpstreamRequestParts"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"

const messages = [{ role: "user", content: "hi" }]
const minimal = { model: "m", max_tokens: 10, messages }
const bytes = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
const read = (body: unknown) => runSlices(readMessagesRequest(bytes(body)))
const accepted = (body: unknown) => Either.getOrThrow(read(body))
const refusedParam = (body: unknown) =>
  Either.match(read(body), { onLeft: ({ param }) => param, onRight: () => "accepted" })
const sentBody = (body: unknown, upstreamModel = "up/model") =>
  Buffer.from(withUpstreamModel(accepted(body), upstreamModel)).toString()

const CLIENT_TOOLS = [
  "bash_20250124",
  "text_editor_20250728",
  "computer_20250124",
  "computer_toolset_20260801",
  "browser_toolset_20260801",
  "memory_20250818",
  "tool_search_tool_regex_20251119"
]

describe("a messages request", () => {
  it("is read with its model, its output limit and its stream flag", () => {
    expect(accepted({ ...minimal, stream: true })).toMatchObject({ model: "m", streamed: true })
    expect(accepted({ ...minimal, stream: null })).toMatchObject({ streamed: false })
    expect(accepted(minimal)).toMatchObject({ streamed: false, size: { maxOutputTokens: 10, choices: 1 } })
  })

  it("has no output limit if its max_tokens is 0", () => {
    expect(accepted({ ...minimal, max_tokens: 0 }).size.maxOutputTokens).toBeUndefined()
  })

  it.each([
    ["model", { ...minimal, model: undefined }],
    ["model", { ...minimal, model: "" }],
    ["model", { ...minimal, model: 5 }],
    ["messages", { ...minimal, messages: undefined }],
    ["messages", { ...minimal, messages: [] }],
    ["messages", { ...minimal, messages: "hi" }],
    ["messages[1]", { ...minimal, messages: [...messages, "hi"] }],
    ["messages[0].role", { ...minimal, messages: [{ content: "hi" }] }],
    ["max_tokens", { ...minimal, max_tokens: undefined }],
    ["max_tokens", { ...minimal, max_tokens: null }],
    ["max_tokens", { ...minimal, max_tokens: -1 }],
    ["max_tokens", { ...minimal, max_tokens: 1.5 }],
    ["max_tokens", { ...minimal, max_tokens: "10" }],
    ["max_tokens", '{"model":"m","messages":[{"role":"user"}],"max_tokens":1e400}'],
    ["stream", { ...minimal, stream: "true" }],
    ["model", `{"model":"a","model":"b","max_tokens":1,"messages":[{"role":"user"}]}`],
    ["max_tokens", `{"model":"a","max_tokens":1,"Max_Tokens":9,"messages":[{"role":"user"}]}`],
    ["system", `{"model":"a","max_tokens":1,"system":"a","system":"b","messages":[{"role":"user"}]}`]
  ])("is refused for an invalid %s: %j", (param, body) => {
    expect(refusedParam(body)).toBe(param)
  })

  it.each([
    ["a system prompt in blocks", { system: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] }],
    [
      "content of unexpected shapes",
      {
        messages: [
          { role: "user", content: { anything: 1 } },
          { role: "system", content: [] }
        ]
      }
    ],
    ["thinking", { thinking: { type: "enabled", budget_tokens: 2_000 } }],
    ["tools that the provider runs", { tools: [{ type: "web_search_20250305", name: "web_search" }, "x"] }],
    ["unknown members", { context_management: { edits: [] }, metadata: { user_id: "u" }, anything: [null] }],
    ["fallbacks that the provider chooses", { fallbacks: "default" }],
    ["empty lists of fallbacks and models", { fallbacks: [], models: [] }]
  ])("is accepted with %s", (_, members) => {
    expect(refusedParam({ ...minimal, ...members })).toBe("accepted")
  })

  it.each([
    ["fallbacks", { ...minimal, fallbacks: [{ model: "larger" }] }],
    ["models", { ...minimal, models: ["larger"] }],
    ["tools", { ...minimal, tools: [{ name: "f" }, { type: "advisor_20260301", name: "advisor", model: "larger" }] }],
    ["tools", JSON.stringify({ ...minimal, tools: [{ type: "advisor_20260301" }] }).replace("advisor", "\\u0061dvisor")]
  ])("is refused if its %s can select a second model", (param, body) => {
    expect(refusedParam(body)).toBe(param)
  })

  it.each([
    ["a tool of the client", [], { tools: [{ name: "f" }, { type: "custom", name: "g" }, { type: null }] }],
    ["tools of Anthropic that the client runs", [], { tools: CLIENT_TOOLS.map((type) => ({ type, name: "t" })) }],
    ["an empty list of MCP servers", [], { mcp_servers: [] }],
    ["a web search", ["tools web_search"], { tools: [{ type: "web_search_20250305", name: "w" }] }],
    ["a web search under `Type`", ["tools web_search"], '"tools":[{"Type":"web_search_20250305"}]'],
    ["a type in JSON escapes", ["tools web_search"], '"tools":[{"t\\u0079pe":"web\\u005fsearch_20250305"}]'],
    ["code execution", ["tools code_execution"], { tools: [{ type: "code_execution_20250825", name: "c" }] }],
    ["a web fetch", ["tools web_fetch"], { tools: [{ type: "web_fetch_20250910", name: "w" }] }],
    ["an MCP server", ["mcp_servers mcp"], { mcp_servers: [{ type: "url", url: "https://a.example" }] }],
    ["a tool set of an MCP server", ["tools mcp"], { tools: [{ type: "mcp_toolset" }] }],
    ["a plugin", ["plugins plugins"], { plugins: [{ id: "web" }] }],
    ["a tool of an unknown type", ["tools brand_new"], { tools: [{ type: "brand_new_20990101" }] }]
  ])("with %s has the hosted tools %j", (_, found, members) => {
    const body =
      typeof members === "string" ? JSON.stringify(minimal).replace("{", `{${members},`) : { ...minimal, ...members }
    expect(accepted(body).hostedTools?.map(({ name, param }) => `${param} ${name}`)).toEqual(found)
  })

  const defining = (definition: object) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } })
  const search = defining({ type: "web_search_20250305", name: "w" })
  it.each([
    ["a block that adds a hosted tool", ["messages web_search"], [search]],
    ["a compaction that adds a hosted tool", ["messages web_search"], [{ type: "compaction", tool_changes: [search] }]],
    ["a block that adds a tool of the client", [], [defining({ name: "f", input_schema: { type: "object" } })]],
    [
      "the input of a tool that looks like a definition",
      [],
      [{ type: "tool_use", name: "f", input: { content: [search] } }]
    ],
    ["a block that refers to a tool", [], [{ type: "tool_addition", tool: { type: "tool_reference", name: "w" } }]]
  ])("with %s in its messages has the hosted tools %j", (_, found, content) => {
    const request = { ...minimal, messages: [...messages, { role: "system", content }] }
    expect(accepted(request).hostedTools?.map(({ name, param }) => `${param} ${name}`)).toEqual(found)
  })

  it("has the hosted tools of its messages if it is large", () => {
    const long = { role: "user", content: [{ type: "text", text: "a".repeat(200_000) }, search] }
    const escaped = JSON.stringify({ ...minimal, messages: [...messages, long] }).replace(
      "definition",
      "d\\u0065finition"
    )
    expect(accepted(escaped).hostedTools).toEqual([{ name: "web_search", param: "messages" }])
  })

  it("is refused if its messages add an advisor", () => {
    const content = [defining({ type: "advisor_20260301", name: "a", model: "larger" })]
    expect(refusedParam({ ...minimal, messages: [...messages, { role: "system", content }] })).toBe("messages")
  })

  it("collects at most 17 names of hosted tools", () => {
    const tools = Array.from({ length: 1_000 }, (_, i) => ({ type: `tool-${i}` }))
    expect(accepted({ ...minimal, tools: [...tools, ...tools] }).hostedTools?.length).toBe(17)
  })

  it("is accepted if a tool name contains the word advisor", () => {
    expect(refusedParam({ ...minimal, tools: [{ name: "advisor_list", description: "lists advisor_20260301" }] })).toBe(
      "accepted"
    )
  })

  it("has a size that counts no base64 media", () => {
    const data = "iVBORw0KGgo".repeat(1_000)
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } }
    const report = { type: "document", source: { type: "base64", media_type: "application/pdf", data } }
    const request = { ...minimal, system: "s".repeat(100), tools: [{ name: "t".repeat(50) }] }
    const { size } = accepted({ ...request, messages: [{ role: "user", content: [image, report] }] })
    const types = ["image", "base64", "image/png", "document", "base64", "application/pdf"]
    expect(size.attachments).toBe(2)
    expect(size.hasUnsizedContent).toBe(true)
    expect(size.textBytes).toBe(100 + 50 + "user".length + types.join("").length)
  })

  it("has no unsized content if its only media are images", () => {
    const image = { type: "image", source: { type: "url", url: "https://a.example/b" } }
    const { size } = accepted({ ...minimal, messages: [{ role: "user", content: [image] }] })
    expect(size.hasUnsizedContent).toBe(false)
  })

  it.each([
    ["continues a stored thread", { type: "continue", previous_message_id: "msg_1" }, true],
    ["begins a thread", { type: "create" }, false],
    ["has no thread", null, false]
  ])("that %s has unsized content: %j %s", (_, thread, isUnsized) => {
    expect(accepted({ ...minimal, thread }).size.hasUnsizedContent).toBe(isUnsized)
  })

  it("has a sampled prompt without types, ids and signatures if it is large", () => {
    const text = "word ".repeat(150_000)
    const thinking = { type: "thinking", thinking: "hm", signature: "EqQBCg".repeat(300) }
    const call = { type: "tool_use", id: `toolu_${"1".repeat(24)}`, name: "look", input: {} }
    const result = { type: "tool_result", tool_use_id: call.id, content: text }
    const messages = [
      { role: "assistant", content: [thinking, call] },
      { role: "user", content: [result] }
    ]
    const { sampleOf, extraTokens } = accepted({ ...minimal, messages }).promptText()
    expect(sampleOf?.textBytes).toBe("assistanthmlookuser".length + text.length)
    expect(extraTokens).toBe(3 + 2 * 3)
  })

  it("has a size that counts a plain-text document as text", () => {
    const data = "once upon a time ".repeat(200)
    const story = { type: "document", source: { type: "text", media_type: "text/plain", data } }
    const { size } = accepted({ ...minimal, messages: [{ role: "user", content: [story] }] })
    expect(size.textBytes).toBe(data.length + ["user", "document", "text", "text/plain"].join("").length)
  })

  it("has a prompt text for the token count", () => {
    expect(accepted({ ...minimal, system: "Be brief." }).promptText()).toEqual({
      text: "userBe brief.hi",
      extraTokens: 6
    })
  })
})

describe("a request for a token count", () => {
  it("needs no output limit", () => {
    expect(Either.isRight(runSlices(readCountRequest(bytes({ model: "m", messages }))))).toBe(true)
    expect(Either.isLeft(runSlices(readCountRequest(bytes({ model: "m", messages: [] }))))).toBe(true)
    expect(Either.isLeft(runSlices(readCountRequest(bytes({ messages }))))).toBe(true)
  })
})

describe("the messages body for a provider", () => {
  it("differs from the client's body only in the model name", () => {
    const body = `{ "max_tokens":10,"messages":[{"role":"user","content":"model"}], "x":1e2,"model" : "m" ,"seed":12345678901234567890}`
    expect(sentBody(body)).toBe(body.replace('"m"', '"up/model"'))
  })

  const members = FastCheck.dictionary(FastCheck.fullUnicodeString(), FastCheck.jsonValue({ maxDepth: 2 }), {
    maxKeys: 4
  }).filter((it) => Object.keys(it).every((key) => !/^[a-z_]+$/i.test(key)))
  property("keeps all other members in their order", [members, members], (before, after) => {
    const body = { ...before, ...minimal, ...after }
    return sentBody(JSON.stringify(body)) === JSON.stringify({ ...body, model: "up/model" })
  })
})

describe("the messages headers for a provider", () => {
  const otherHeaders = {
    authorization: "Bearer k",
    "x-api-key": "k",
    cookie: "c",
    "x-forwarded-for": "1.2.3.4",
    "x-stainless-os": "Linux",
    "anthropic-dangerous-direct-browser-access": "true"
  }

  it("contain the client's anthropic-version and anthropic-beta", () => {
    const given = { "anthropic-version": "2026-10-21", "anthropic-beta": "a-2025-01-01,b-2025-02-02, c" }
    expect(messagesHeadersFor({ ...otherHeaders, ...given }, true)).toEqual({
      "content-type": "application/json",
      accept: "text/event-stream",
      "accept-encoding": "identity",
      ...given
    })
  })

  it.each([{}, { "anthropic-version": "", "anthropic-beta": "" }])(
    "contain a default anthropic-version if the client sends %j",
    (none) => {
      expect(messagesHeadersFor({ ...otherHeaders, ...none }, false)).toEqual({
        "content-type": "application/json",
        accept: "application/json",
        "accept-encoding": "identity",
        "anthropic-version": "2023-06-01"
      })
    }
  )
})
