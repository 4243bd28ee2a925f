/** Generates streams and whole responses as providers send them, for each protocol: realistic ones and changed ones. */
import { FastCheck } from "effect"
import { chatFrames, chunk, completion, errorBody, usage, usageChunk } from "../../support/upstream/ChatWire.ts"
import * as Messages from "../../support/upstream/MessagesWire.ts"
import * as Responses from "../../support/upstream/ResponsesWire.ts"
import { changedFrames, changedValue, jsonChanges } from "./JsonChanges.ts"

export type StreamedProtocol = "chat" | "messages" | "responses"

const text = FastCheck.oneof(
  FastCheck.fullUnicodeString({ maxLength: 8 }),
  FastCheck.constantFrom("", " ", "a\n\nb", "data: x", "\ud83d", "[DONE]", "</think>", "ä".repeat(40))
)
const texts = FastCheck.array(text, { maxLength: 4 })
const count = FastCheck.oneof(FastCheck.nat(50), FastCheck.constantFrom(0, 10_000_001, 2 ** 31))
const index = FastCheck.constantFrom(0, 0, 0, 1, 2, 1_023, 1_024)

const call = FastCheck.record(
  {
    index,
    id: FastCheck.constantFrom("call_1", "call_2", ""),
    type: FastCheck.constantFrom("function", "custom"),
    function: FastCheck.record({ name: text, arguments: text }, { requiredKeys: [] }),
    custom: FastCheck.record({ name: text, input: text }, { requiredKeys: [] })
  },
  { requiredKeys: [] }
)
const delta = FastCheck.record(
  {
    role: FastCheck.constantFrom("assistant", null, ""),
    content: FastCheck.oneof(
      text,
      FastCheck.constant(null),
      texts.map((all) => all.map((it) => ({ type: "text", text: it })))
    ),
    refusal: text,
    reasoning_content: text,
    reasoning: text,
    reasoning_details: texts.map((all) => all.map((it) => ({ type: "reasoning.text", text: it, provider: "p" }))),
    tool_calls: FastCheck.array(call, { maxLength: 2 }),
    function_call: FastCheck.record({ name: text, arguments: text }, { requiredKeys: [] }),
    audio: text.map((transcript) => ({ transcript, data: "AAAA" }))
  },
  { requiredKeys: [] }
)
const reason = FastCheck.constantFrom(null, null, null, "stop", "length", "tool_use", "error", "new", "")
const choice = FastCheck.record(
  { index, delta, finish_reason: reason, logprobs: FastCheck.constantFrom(null, { content: [] }) },
  { requiredKeys: ["delta"] }
)
const chatEvent = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.array(choice, { maxLength: 3 }).map((choices) => ({ object: "chunk", choices })) },
  { weight: 2, arbitrary: FastCheck.tuple(count, count).map(([prompt, output]) => usageChunk(usage(prompt, output))) },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom<object>(errorBody("m"), { error: "x" }, { type: "error" }, {}, chunk({}, "stop"))
  }
)
const chatStream = FastCheck.oneof(
  FastCheck.record({
    content: texts,
    usage: FastCheck.option(FastCheck.constant(usage(3, 2)), { nil: undefined })
  }).map((parts) => [...chatFrames(parts), "[DONE]"]),
  FastCheck.tuple(
    FastCheck.array(chatEvent, { maxLength: 6 }),
    FastCheck.constantFrom<ReadonlyArray<unknown>>(["[DONE]"], [chunk({}, "stop"), "[DONE]"], [chunk({}, "stop")], [])
  ).map(([events, last]) => [...events, ...last])
)

const block = FastCheck.oneof(
  text.map((it) => ({ type: "text", text: it })),
  text.map((thinking) => ({ type: "thinking", thinking, signature: "s" })),
  text.map((name) => ({ type: "tool_use", id: "toolu_bdrk_1", name, input: {} })),
  FastCheck.jsonValue({ maxDepth: 2 }).map((input) => ({ type: "tool_use", id: "toolu_1", name: "f", input })),
  FastCheck.constantFrom<object>({ type: "redacted_thinking", data: "x" }, { type: "fallback", from: { model: "x" } })
)
const messagesDelta = FastCheck.oneof(
  text.map((it) => ({ type: "text_delta", text: it })),
  text.map((thinking) => ({ type: "thinking_delta", thinking })),
  text.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  text.map((content) => ({ type: "compaction_delta", content })),
  FastCheck.constant({ type: "signature_delta", signature: "s" })
)
const messagesEvent = FastCheck.oneof<Array<FastCheck.Arbitrary<Messages.WireEvent>>>(
  FastCheck.tuple(block, index).map(([it, at]) => Messages.blockStart(it, at)),
  FastCheck.tuple(messagesDelta, index).map(([it, at]) => Messages.blockDelta(it, at)),
  FastCheck.tuple(messagesDelta, index).map(([it, at]) => Messages.blockDelta(it, at)),
  index.map((at) => Messages.blockStop(at)),
  count.map((output) => Messages.messageDelta(output, null)),
  FastCheck.constantFrom(Messages.ping, Messages.messageStop, Messages.errorOf("m"), { type: "vendor_event" })
)
const messagesStream = FastCheck.tuple(
  FastCheck.record({ content: texts, usage: FastCheck.constantFrom(undefined, Messages.usage(3, 2)) }),
  FastCheck.array(messagesEvent, { maxLength: 5 }),
  FastCheck.nat(8)
).map(([parts, more, at]) => {
  const events = Messages.messageEvents(parts)
  return [...events.slice(0, at), ...more, ...events.slice(at)]
})

const item = FastCheck.oneof(
  text.map((it) => Responses.message(it)),
  FastCheck.tuple(text, text).map(([name, args]) => Responses.functionCall(name, args)),
  text.map((it) => ({ id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: it }] })),
  FastCheck.constant({ type: "web_search_call", id: "ws_1", provider: "p" })
)
const responsesEvent = FastCheck.oneof(
  FastCheck.tuple(
    FastCheck.constantFrom("output_text", "refusal", "reasoning_text", "function_call_arguments", "audio", "new"),
    text
  ).map(([kind, it]) => ({ type: `response.${kind}.delta`, delta: it, obfuscation: "x" })),
  item.map((it) => ({ type: "response.output_item.added", output_index: 0, item: it })),
  item.map((it) => ({ type: "response.output_item.done", output_index: 0, item: it })),
  FastCheck.array(item, { maxLength: 3 }).map((output) => ({
    type: "response.completed",
    response: Responses.response({}, { output })
  })),
  FastCheck.constantFrom<object>(
    { type: "response.incomplete", response: Responses.response({}, { status: "incomplete" }) },
    {
      type: "response.failed",
      response: Responses.response({}, { status: "failed", error: { code: "invalid_prompt" } })
    },
    { type: "error", code: "server_error", message: "m" },
    { type: "ping" },
    Responses.created()
  )
)
const responsesStream = FastCheck.tuple(
  FastCheck.record({ content: texts, usage: FastCheck.constantFrom(undefined, Responses.responsesUsage(3, 2)) }),
  FastCheck.array(responsesEvent, { maxLength: 5 }),
  FastCheck.nat(10)
).map(([parts, more, at]) => {
  const events = Responses.responseEvents(parts)
  return [...events.slice(0, at), ...more, ...events.slice(at)]
})

/** Returns the bytes of an event stream. Events of chat have no `event:` line. */
const wireOf = (protocol: StreamedProtocol, frames: ReadonlyArray<unknown>): Buffer =>
  Buffer.from(
    frames
      .map((frame) => {
        const data = typeof frame === "string" ? frame : JSON.stringify(frame)
        const type = protocol === "chat" ? undefined : (frame as { readonly type?: unknown } | null)?.type
        return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${data}\n\n`
      })
      .join("")
  )

const framesOf = { chat: chatStream, messages: messagesStream, responses: responsesStream }

/** The bytes of a provider's stream. About half of the streams have changes. */
export const providerStream = (protocol: StreamedProtocol): FastCheck.Arbitrary<Buffer> =>
  FastCheck.tuple<[ReadonlyArray<unknown>, Parameters<typeof changedFrames>[1]]>(framesOf[protocol], jsonChanges).map(
    ([frames, changes]) => wireOf(protocol, changedFrames(frames, changes))
  )

const wholeOf: { readonly [P in StreamedProtocol]: FastCheck.Arbitrary<object> } = {
  chat: FastCheck.record({ content: texts, usage: FastCheck.constantFrom(undefined, usage(3, 2)), delta, reason }).map(
    ({ delta, reason, ...parts }) => {
      const whole = completion(parts)
      const second = { index: 1, message: { role: "assistant", ...delta }, finish_reason: reason ?? "stop" }
      return { ...whole, choices: reason === null ? whole.choices : [...whole.choices, second], provider: "p" }
    }
  ),
  messages: FastCheck.record({
    content: FastCheck.array(block, { maxLength: 3 }),
    usage: FastCheck.constantFrom(undefined, Messages.usage(3, 2))
  }).map(({ content, usage }) => ({ ...Messages.message({ usage }), content, provider: "p" })),
  responses: FastCheck.record({
    output: FastCheck.array(item, { maxLength: 3 }),
    usage: FastCheck.constantFrom(undefined, Responses.responsesUsage(3, 2))
  }).map(({ output, usage }) => Responses.response({ usage }, { output, provider: "p" }))
}

/** The bytes of a provider's whole response. About half of the responses have changes. */
export const providerResponse = (protocol: StreamedProtocol): FastCheck.Arbitrary<Buffer> =>
  FastCheck.tuple(wholeOf[protocol], jsonChanges, FastCheck.constantFrom(undefined, 1, "\t")).map(
    ([whole, changes, indent]) => Buffer.from(JSON.stringify(changedValue(whole, changes), null, indent) ?? "")
  )
