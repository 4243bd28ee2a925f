import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { completion, usage } from "../../../support/upstream/ChatWire.ts"
import { context, finished, framesOf, requestOf, streamed, told, usageTold } from "./relayed.ts"

const bytes = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
const answer = (body: unknown) => chatProtocol.translate(requestOf({}), context, bytes(body))
const answered = (body: unknown) =>
  Either.map(answer(body), ({ body, ...rest }) => ({ ...rest, json: JSON.parse(body) }))
const asStream = (body: unknown, includeUsage = false) =>
  chatProtocol.stream.fromWholeResponse(streamed(includeUsage), context, bytes(body))

const one = (message: object, more: object = {}) => ({ ...completion(), choices: [{ index: 0, message, ...more }] })
const rewritten = (choice: object, more: object = {}) => ({
  id: "chatcmpl-ours",
  object: "chat.completion",
  created: context.createdAtSeconds,
  model: context.publicName,
  choices: [{ index: 0, ...choice }],
  ...more
})

describe("a whole chat answer", () => {
  it("has our id, our name of the model, its message and its usage", () => {
    const body = {
      ...completion({ content: ["Hello"], usage: usage(7, 2, 3) }),
      system_fingerprint: "fp",
      provider: "x"
    }
    expect(answered(body)).toEqual(
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

  it("has no usage when none was reported", () => {
    expect(answered(completion())).toEqual(
      Either.right({
        json: rewritten({ message: { role: "assistant", content: "Hello there" }, finish_reason: "stop" }),
        content: "Hello there",
        usage: undefined
      })
    )
  })

  it("keeps what a message says, and drops what tells about the supplier", () => {
    const message = {
      role: "model",
      content: null,
      reasoning_content: "hm",
      tool_calls: [{ id: "call_1", function: { name: "f", arguments: "{}" }, provider_specific_fields: {} }],
      provider_specific_fields: { a: 1 },
      reasoning_details: [{ type: "reasoning.text", text: "hm", provider: "x" }]
    }
    const body = one(message, { logprobs: { content: [] }, native_finish_reason: "x", content_filter_results: {} })
    const { json, content } = Either.getOrThrow(answered(body))
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

  it("adds the total up itself, with reasoning that was counted apart", () => {
    const body = { ...completion(), usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35, cost: 1 } }
    expect(Either.getOrThrow(answered(body)).json.usage).toEqual({
      prompt_tokens: 10,
      completion_tokens: 25,
      total_tokens: 35
    })
  })

  it("keeps every choice in its place", () => {
    const choices = [
      { message: { content: "a" }, finish_reason: "eos" },
      { index: 1, message: { content: "b" }, finish_reason: "MAX_TOKENS" }
    ]
    expect(Either.getOrThrow(answered({ ...completion(), choices })).json.choices).toEqual([
      { index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" },
      { index: 1, message: { role: "assistant", content: "b" }, finish_reason: "length" }
    ])
  })

  const deep = `{"choices":[{"message":{"content":${"[".repeat(50_000)}${"]".repeat(50_000)}}}]}`
  it.each([
    ["HTML", "<html>Bad gateway</html>"],
    ["nothing", ""],
    ["cut JSON", '{"choices":[{"mess'],
    ["an array", []],
    ["an object of another kind", { object: "list", data: [] }],
    ["no choices", { ...completion(), choices: [] }],
    ["a choice without a message", { ...completion(), choices: [{ index: 0, text: "x" }] }],
    ["what nobody can nest", deep],
    ["an error", { error: { message: "boom", code: 502 } }],
    ["an error next to null", { ...completion(), choices: null, error: "boom" }],
    ["an error in a choice", one({ content: "" }, { finish_reason: "error", error: { code: 500 } })]
  ])("that is %s is a failure of the supplier, told as an answer or as a stream", (_, body) => {
    expect(answer(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
    expect(asStream(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
  })

  it("that is an error of a limit is a limit", () => {
    expect(answer({ error: { code: 429, message: "slow down" } })).toMatchObject({ left: { _tag: "TechnicalLimit" } })
  })
})

describe("N35: a whole answer to a streamed request", () => {
  it("is told as role and content, finish, usage if asked for, and [DONE]", () => {
    const { frames, ...rest } = Either.getOrThrow(asStream(completion({ usage: usage(7, 2) }), true))
    expect(framesOf(frames)).toEqual([
      told({ role: "assistant", content: "Hello there" }),
      finished("stop"),
      usageTold(7, 2),
      "[DONE]"
    ])
    expect(rest).toEqual({
      content: "Hello there",
      usage: { prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n }, output: 2n },
      end: "complete"
    })
  })

  it("has its usage billed and not told to a client that did not ask", () => {
    const { frames, usage: reported } = Either.getOrThrow(asStream(completion({ usage: usage(7, 2) })))
    expect(framesOf(frames)).toEqual([told({ role: "assistant", content: "Hello there" }), finished("stop"), "[DONE]"])
    expect(reported?.output).toBe(2n)
  })

  it("numbers the tool calls", () => {
    const call = { id: "call_1", function: { name: "f", arguments: "{}" } }
    const { frames, content } = Either.getOrThrow(asStream(one({ content: null, tool_calls: [call] })))
    expect(framesOf(frames)).toEqual([
      told({ role: "assistant", content: null, tool_calls: [{ ...call, index: 0, type: "function" }] }),
      finished("tool_calls"),
      "[DONE]"
    ])
    expect(content).toBe("f{}")
  })

  it("that says nothing at all is a failure", () => {
    expect(asStream(one({}))).toMatchObject({ left: { _tag: "UpstreamFailed" } })
  })
})
