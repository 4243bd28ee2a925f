import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { completion, usage } from "../../../support/upstream/ChatWire.ts"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import { context, deltaChunk, finished, framesOf, requestOf, streamed, usageFrame } from "./TranslatedStream.ts"

const bytes = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
const translated = (body: unknown) => chatProtocol.translate(requestOf({}), context, bytes(body))
const translatedJson = (body: unknown) =>
  Either.map(translated(body), ({ body, encoding, content, usage }) => ({
    json: JSON.parse(Buffer.from(body, encoding).toString()),
    content: content(),
    usage
  }))
const asStream = (body: unknown, includeUsage = false) =>
  chatProtocol.stream.fromWholeResponse(streamed(includeUsage), context, bytes(body))

const completionWith = (message: object, more: object = {}) => ({
  ...completion(),
  choices: [{ index: 0, message, ...more }]
})
const rewritten = (choice: object, more: object = {}) => ({
  id: "chatcmpl-ours",
  object: "chat.completion",
  created: context.createdAtSeconds,
  model: context.publicName,
  choices: [{ index: 0, ...choice }],
  ...more
})

describe("a whole chat completion", () => {
  it("with millions of tiny values is refused before it is parsed", () => {
    const message = `{"content":"a","more":[${"{},".repeat(2_500_000)}{}]}`
    const refused = translated(`{"choices":[{"message":${message}}]}`)
    expect(refused).toMatchObject({ left: { _tag: "UpstreamFailed" } })
  })

  it("has the gateway's id and the public name of the model", () => {
    const body = {
      ...completion({ content: ["Hello"], usage: usage(7, 2, 3) }),
      system_fingerprint: "fp",
      provider: "x"
    }
    expect(translatedJson(body)).toEqual(
      Either.right({
        json: rewritten(
          { message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
          {
            usage: {
              prompt_tokens: 7,
              completion_tokens: 2,
              total_tokens: 9,
              prompt_tokens_details: { cached_tokens: 3 }
            }
          }
        ),
        content: "Hello",
        usage: { prompt: { input: 4n, cacheWrite: 0n, cacheRead: 3n }, output: 2n }
      })
    )
  })

  it.each([...emptyErrors])("is passed on if the provider adds an empty error: %j", (error) => {
    const given = completion({ content: ["Hello"], usage: usage(7, 2) })
    const choices = given.choices.map((choice) => ({ ...choice, error }))
    expect(translatedJson({ ...given, choices, error })).toEqual(translatedJson(given))
    expect(asStream({ ...given, choices, error })).toEqual(asStream(given))
  })

  it("has no usage if the provider reported none", () => {
    expect(translatedJson(completion())).toEqual(
      Either.right({
        json: rewritten({ message: { role: "assistant", content: "Hello there" }, finish_reason: "stop" }),
        content: "Hello there",
        usage: undefined
      })
    )
  })

  it("contains no members that identify the provider", () => {
    const message = {
      role: "model",
      content: null,
      reasoning_content: "hm",
      tool_calls: [{ id: "call_1", function: { name: "f", arguments: "{}" }, provider_specific_fields: {} }],
      provider_specific_fields: { a: 1 },
      reasoning_details: [{ type: "reasoning.text", text: "hm", provider: "x" }]
    }
    const body = completionWith(message, {
      logprobs: { content: [] },
      native_finish_reason: "x",
      content_filter_results: {}
    })
    const { json, content } = Either.getOrThrow(translatedJson(body))
    expect(json).toEqual(
      rewritten({
        message: {
          role: "assistant",
          content: null,
          reasoning_content: "hm",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }],
          reasoning_details: [{ type: "reasoning.text", text: "hm" }]
        },
        logprobs: { content: [] },
        finish_reason: "tool_calls"
      })
    )
    expect(content).toBe("hmf{}")
  })

  it("counts reasoning tokens of the total as completion tokens", () => {
    const details = { completion_tokens_details: { reasoning_tokens: 20 } }
    const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35, cost: 1, ...details }
    expect(Either.getOrThrow(translatedJson({ ...completion(), usage: reported })).json.usage).toEqual({
      prompt_tokens: 10,
      completion_tokens: 25,
      total_tokens: 35,
      ...details
    })
  })

  it("keeps the order of its choices", () => {
    const choices = [
      { message: { content: "a" }, finish_reason: "eos" },
      { index: 1, message: { content: "b" }, finish_reason: "MAX_TOKENS" }
    ]
    expect(Either.getOrThrow(translatedJson({ ...completion(), choices })).json.choices).toEqual([
      { index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" },
      { index: 1, message: { role: "assistant", content: "b" }, finish_reason: "length" }
    ])
  })

  const deep = `{"choices":[{"message":{"content":${"[".repeat(50_000)}${"]".repeat(50_000)}}}]}`
  it.each([
    ["an HTML page", "<html>Bad gateway</html>"],
    ["an empty body", ""],
    ["truncated JSON", '{"choices":[{"mess'],
    ["an array", []],
    ["an object of another type", { object: "list", data: [] }],
    ["a completion without choices", { ...completion(), choices: [] }],
    ["a choice without a message", { ...completion(), choices: [{ index: 0, text: "x" }] }],
    ["JSON that is nested too deeply", deep],
    ["an error", { error: { message: "boom", code: 502 } }],
    ["only an empty error", { error: {} }],
    ["an empty error next to no choices", { ...completion(), choices: [], error: "" }],
    ["an error next to null choices", { ...completion(), choices: null, error: "boom" }],
    ["an error in a choice", completionWith({ content: "" }, { finish_reason: "error", error: { code: 500 } })],
    ["a text that it has aborted", completionWith({ content: "a" }, { finish_reason: "insufficient_system_resource" })]
  ])("fails if the provider sends %s", (_, body) => {
    expect(translated(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
    expect(asStream(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
  })

  it("fails with TechnicalLimit if the provider sends a rate-limit error", () => {
    expect(translated({ error: { code: 429, message: "slow down" } })).toMatchObject({
      left: { _tag: "TechnicalLimit" }
    })
  })
})

describe("a chat completion as a stream", () => {
  it("consists of a delta, a finish reason, usage and [DONE]", () => {
    const { frames, ...rest } = Either.getOrThrow(asStream(completion({ usage: usage(7, 2) }), true))
    expect(framesOf(frames)).toEqual([
      deltaChunk({ role: "assistant", content: "Hello there" }),
      finished("stop"),
      usageFrame(7, 2),
      "[DONE]"
    ])
    expect(rest).toEqual({
      content: "Hello there",
      usage: { prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n }, output: 2n },
      end: "complete"
    })
  })

  it("reports its usage for billing without a usage chunk", () => {
    const { frames, usage: reported } = Either.getOrThrow(asStream(completion({ usage: usage(7, 2) })))
    expect(framesOf(frames)).toEqual([
      deltaChunk({ role: "assistant", content: "Hello there" }),
      finished("stop"),
      "[DONE]"
    ])
    expect(reported?.output).toBe(2n)
  })

  it("has an index in its tool call", () => {
    const call = { id: "call_1", function: { name: "f", arguments: "{}" } }
    const { frames, content } = Either.getOrThrow(asStream(completionWith({ content: null, tool_calls: [call] })))
    expect(framesOf(frames)).toEqual([
      deltaChunk({ role: "assistant", content: null, tool_calls: [{ ...call, index: 0, type: "function" }] }),
      finished("tool_calls"),
      "[DONE]"
    ])
    expect(content).toBe("f{}")
  })

  it("fails if it has no content", () => {
    expect(asStream(completionWith({}))).toMatchObject({ left: { _tag: "UpstreamFailed" } })
  })
})
