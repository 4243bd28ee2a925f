import * as Delivered from "@tollgate/domain/inference/MessagesDelivered"
import { promptText } from "@tollgate/domain/inference/MessagesPrompt"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import {
  blockDelta,
  blockStart,
  messageDelta,
  messageStart,
  toolStart,
  usage
} from "../../support/upstream/MessagesWire.ts"

describe("the content of a messages event", () => {
  it.each([
    ["text", blockDelta({ type: "text_delta", text: "hi" }), "hi"],
    ["thinking", blockDelta({ type: "thinking_delta", thinking: "hm" }), "hm"],
    ["a piece of a tool's input", blockDelta({ type: "input_json_delta", partial_json: '{"a":' }), '{"a":'],
    ["a summary", blockDelta({ type: "compaction_delta", content: "so far" }), "so far"],
    ["the name of a tool", toolStart("toolu_1", "weather"), "weather"],
    ["a tool input in one event", blockStart({ type: "tool_use", name: "f", input: { a: 1 } }), 'f{"a":1}'],
    ["nothing for a signature", blockDelta({ type: "signature_delta", signature: "EqQBCg" }), ""],
    ["nothing for a citation", blockDelta({ type: "citations_delta", citation: { cited_text: "it" } }), ""],
    ["nothing for encrypted thinking", blockStart({ type: "redacted_thinking", data: "EqQBCg" }), ""],
    ["nothing for the result of a hosted tool", blockStart({ type: "mcp_tool_result", content: "found" }), ""],
    ["nothing for the start of a text block", blockStart({ type: "text", text: "" }), ""],
    ["nothing for the start of a message", messageStart({ usage: usage(1, 1) }), ""],
    ["nothing for the end of a message", messageDelta(3), ""],
    ["nothing for an unknown shape", { type: "content_block_delta", delta: 7, content_block: "x" }, ""]
  ])("contains %s", (_, event, content) => {
    expect(Delivered.contentOfEvent(event)).toBe(content)
  })
})

const text = FastCheck.string({ maxLength: 8 })
const cut = (whole: string, at: number) => [
  whole.slice(0, at % (whole.length + 1)),
  whole.slice(at % (whole.length + 1))
]
const block = FastCheck.oneof(
  FastCheck.tuple(text, FastCheck.nat()).map(([text, at]) => ({
    whole: { type: "text", text },
    events: [
      blockStart({ type: "text", text: "" }),
      ...cut(text, at).map((text) => blockDelta({ type: "text_delta", text }))
    ]
  })),
  FastCheck.tuple(text, text).map(([thinking, signature]) => ({
    whole: { type: "thinking", thinking, signature },
    events: [
      blockStart({ type: "thinking", thinking: "", signature: "" }),
      blockDelta({ type: "thinking_delta", thinking }),
      blockDelta({ type: "signature_delta", signature })
    ]
  })),
  FastCheck.tuple(text, FastCheck.dictionary(text, text, { minKeys: 1, maxKeys: 3 }), FastCheck.nat()).map(
    ([name, input, at]) => ({
      whole: { type: "tool_use", id: "toolu_1", name, input },
      events: [
        toolStart("toolu_1", name),
        ...cut(JSON.stringify(input), at).map((partial_json) => blockDelta({ type: "input_json_delta", partial_json }))
      ]
    })
  )
)

property(
  "a whole message has the same content as its stream",
  [FastCheck.array(block, { maxLength: 4 })],
  (blocks) =>
    Delivered.contentOfMessage({ content: blocks.map(({ whole }) => whole) }) ===
    blocks.flatMap(({ events }) => events.map(Delivered.contentOfEvent)).join("")
)

const reportedAfter = (...events: ReadonlyArray<object>) =>
  Delivered.reportedBy(
    events.reduce<Delivered.TokenCounts>((known, event) => Delivered.countsAfterEvent(known, { ...event }), {})
  )
const delta = (usage: object) => ({ type: "message_delta", delta: {}, usage })

describe("messages usage", () => {
  it("counts cached tokens in addition to the input", () => {
    expect(reportedAfter(messageStart({ usage: usage(5, 1, { written: 20, read: 300 }) }), messageDelta(9))).toEqual({
      prompt: { input: 5n, cacheWrite: 20n, cacheRead: 300n },
      output: 9n
    })
  })

  it("ignores the output count of the start event", () => {
    expect(reportedAfter(messageStart({ usage: usage(5, 1) }))).toEqual({
      prompt: { input: 5n, cacheWrite: 0n, cacheRead: 0n },
      output: undefined
    })
  })

  it("replaces each count with the later running total", () => {
    const events = [
      messageStart({ usage: usage(5, 1, { read: 300 }) }),
      delta({ output_tokens: 2 }),
      delta({ input_tokens: 40, cache_read_input_tokens: null, output_tokens: 9 })
    ]
    expect(reportedAfter(...events)).toEqual({ prompt: { input: 40n, cacheWrite: 0n, cacheRead: 300n }, output: 9n })
  })

  it("does not change if zeros follow", () => {
    const events = [messageStart({ usage: usage(5, 1) }), delta({ output_tokens: 9 }), delta(usage(0, 0))]
    expect(reportedAfter(...events)).toEqual({ prompt: { input: 5n, cacheWrite: 0n, cacheRead: 0n }, output: 9n })
  })

  const start = messageStart({ usage: usage(0, 0) })

  it("has no prompt after the zeros of the start event", () => {
    expect(reportedAfter(start)).toEqual({ prompt: undefined, output: undefined })
    expect(reportedAfter(start, delta(usage(12, 3))).prompt?.input).toBe(12n)
  })

  it("has a prompt of 0 if the final count is 0", () => {
    expect(reportedAfter(start, messageDelta(0))).toEqual({
      prompt: { input: 0n, cacheWrite: 0n, cacheRead: 0n },
      output: 0n
    })
  })

  it("includes the tokens of a compaction", () => {
    const iterations = [
      { type: "compaction", input_tokens: 1_000, output_tokens: 200 },
      { type: "message", input_tokens: 50, output_tokens: 9 }
    ]
    expect(reportedAfter(delta({ ...usage(50, 9), iterations }))).toMatchObject({
      prompt: { input: 1_050n },
      output: 209n
    })
  })

  it.each([null, undefined, "12", { input_tokens: -1 }, { output_tokens: "9" }])(
    "is unreported if the `usage` member is %j",
    (usage) => {
      expect(Delivered.reportedBy(Delivered.mergeCounts({}, usage))).toEqual({ prompt: undefined, output: undefined })
    }
  )

  const counts = FastCheck.record({ input: FastCheck.nat(99), output: FastCheck.nat(99), read: FastCheck.nat(99) })
  property("equals the last reported totals", [FastCheck.array(counts)], (increments) => {
    let [input, output, read] = [0, 0, 0]
    const events = increments.map((grown) => {
      input += grown.input
      output += grown.output
      read += grown.read
      return delta(usage(input, output, { read }))
    })
    const { prompt, output: total } = reportedAfter(...events)
    return (
      increments.length === 0 ||
      (prompt?.input === BigInt(input) && prompt.cacheRead === BigInt(read) && total === BigInt(output))
    )
  })
})

describe("the text of a messages prompt", () => {
  it("contains the system prompt, messages, tool calls and tool definitions", () => {
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
    const { text, extraTokens } = promptText({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "What is this?" }, picture] },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: { at: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "a cat" }, picture] }
          ]
        },
        {
          role: "user",
          content: [{ type: "document", title: "T", source: { type: "text", data: "once upon a time" } }]
        }
      ],
      tools: [{ name: "look", input_schema: { type: "object" } }],
      output_config: { format: { type: "json_schema", schema: { type: "object" } }, effort: "low" }
    })
    for (const part of [
      "Be brief.",
      "What is this?",
      '{"at":1}',
      "a cat",
      "once upon a time",
      '"name":"look"',
      "json_schema"
    ])
      expect(text).toContain(part)
    for (const part of ["AAAA", "toolu_1", "ephemeral"]) expect(text).not.toContain(part)
    expect(extraTokens).toBe(3 + 4 * 3 + 2 * 765)
  })

  it("is empty for a malformed body", () => {
    expect(promptText([1, 2]).text).toBe("")
    expect(
      promptText({ system: 7, messages: [null, 7, { content: [null, { type: "tool_result", content: 5 }] }] }).text
    ).toBe("")
  })
})
