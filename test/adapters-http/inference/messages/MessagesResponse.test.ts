import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import {
  blockDelta,
  blockStart,
  blockStop,
  errorOf,
  inputDelta,
  message,
  messageStop,
  textDelta,
  textStart,
  toolStart,
  usage
} from "../../../support/upstream/MessagesWire.ts"
import { context, eventsOf, requestOf, streamed } from "./TranslatedStream.ts"

const bytes = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
const translated = (body: unknown) => messagesProtocol.translate(requestOf(), context, bytes(body))
const translatedJson = (body: unknown) =>
  Either.map(translated(body), ({ body, content, usage }) => ({ json: JSON.parse(body), content: content(), usage }))
const asStream = (body: unknown) => messagesProtocol.stream.fromWholeResponse(streamed, context, bytes(body))

describe("a whole message", () => {
  it("has the public name of the model and the provider's id", () => {
    const given = { ...message({ content: ["Hello"], usage: usage(5, 2, { read: 300 }) }), provider: "x" }
    expect(translatedJson(given)).toEqual(
      Either.right({
        json: message({ content: ["Hello"], usage: usage(5, 2, { read: 300 }), model: context.publicName }),
        content: "Hello",
        usage: { prompt: { input: 5n, cacheWrite: 0n, cacheRead: 300n }, output: 2n }
      })
    )
  })

  it("has no usage if the provider reported none", () => {
    const { json, usage } = Either.getOrThrow(translatedJson(message()))
    expect([json.usage, usage]).toEqual([undefined, undefined])
  })

  it("keeps the bytes of its content", () => {
    const content = '[ {"type":"tool_use","id":"toolu_1","name":"f","input":{"id":12345678901234567890,"x":1.0}} ]'
    const given = `{"content":${content},"type":"message","model":"up","usage":{"output_tokens":2,"service_tier":"s"}}`
    const { body, content: counted } = Either.getOrThrow(translated(given))
    expect(body).toBe(
      `{"content":${content},"type":"message","model":"public-model","usage":{"output_tokens":2},"id":"msg_ours"}`
    )
    expect(counted()).toMatch(/^f\{"id":1234567890/)
  })

  it("has no content that identifies the provider", () => {
    const content = [
      { type: "text", text: "hi", provider_metadata: {} },
      { type: "tool_use", id: "toolu_bdrk_01", name: "f", input: { provider: "mine" } }
    ]
    expect(Either.getOrThrow(translatedJson({ ...message(), content })).json.content).toEqual([
      { type: "text", text: "hi" },
      { type: "tool_use", id: "toolu_01", name: "f", input: { provider: "mine" } }
    ])
  })

  it.each([...emptyErrors])("is passed on with null instead of an empty error: %j", (error) => {
    const given = message({ usage: usage(7, 9) })
    const { body } = Either.getOrThrow(translated({ ...given, error }))
    expect(JSON.parse(body)).toEqual({ ...given, model: context.publicName, error: null })
    expect(asStream({ ...given, error })).toMatchObject({ right: { end: "complete" } })
  })

  it.each([
    ["an HTML page", "<html>Bad gateway</html>"],
    ["an empty body", ""],
    ["truncated JSON", '{"type":"message","content":[{"ty'],
    ["an array", []],
    ["an object of another type", { object: "chat.completion", choices: [] }],
    ["a message without content", { ...message(), content: undefined }],
    ["a message with a string as its content", { ...message(), content: "hi" }],
    ["JSON that is nested too deeply", `{"type":"message","content":${"[".repeat(50_000)}${"]".repeat(50_000)}}`],
    ["an error", errorOf("boom", "api_error")],
    ["an error of another protocol", { error: { message: "boom", code: 502 } }]
  ])("fails if the provider sends %s", (_, body) => {
    expect(translated(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
    expect(asStream(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
  })

  it("fails with TechnicalLimit if the provider sends a rate-limit error", () => {
    expect(translated(errorOf("slow down", "rate_limit_error"))).toMatchObject({ left: { _tag: "TechnicalLimit" } })
  })
})

describe("a whole message as a stream", () => {
  it("consists of the events from message_start to message_stop", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "EqQB" },
      { type: "text", text: "hi", citations: [{ cited_text: "it" }] },
      { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
      { type: "tool_use", id: "toolu_2", name: "g", input: {} },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ title: "T" }] }
    ]
    const given = { ...message({ usage: usage(7, 9) }), content, stop_reason: "tool_use" }
    const { frames, end, usage: reported } = Either.getOrThrow(asStream(given))
    const { content: _, ...beginning } = message({ model: context.publicName, usage: usage(7, 9) })
    expect(eventsOf(frames)).toEqual([
      { type: "message_start", message: { ...beginning, content: [], stop_reason: null } },
      blockStart({ type: "thinking", thinking: "", signature: "" }),
      blockDelta({ type: "thinking_delta", thinking: "hm" }),
      blockDelta({ type: "signature_delta", signature: "EqQB" }),
      blockStop(),
      { ...textStart, index: 1 },
      blockDelta({ type: "citations_delta", citation: { cited_text: "it" } }, 1),
      textDelta("hi", 1),
      blockStop(1),
      toolStart("toolu_1", "f", 2),
      inputDelta('{"a":1}', 2),
      blockStop(2),
      toolStart("toolu_2", "g", 3),
      blockStop(3),
      blockStart({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ title: "T" }] }, 4),
      blockStop(4),
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: usage(7, 9)
      },
      messageStop
    ])
    expect([end, reported?.output]).toEqual(["complete", 9n])
  })
})
