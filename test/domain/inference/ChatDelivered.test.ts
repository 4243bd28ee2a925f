import * as ChatDelivered from "@tollgate/domain/inference/ChatDelivered"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const chunk = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] })
const contentOfAll = (chunks: ReadonlyArray<ReturnType<typeof chunk>>) => chunks.map(ChatDelivered.contentOf).join("")

describe("chat content", () => {
  it.each([
    ["text", { content: "hi" }, "hi"],
    ["a refusal", { refusal: "no" }, "no"],
    ["reasoning", { reasoning_content: "hm" }, "hm"],
    [
      "reasoning once if it is sent as reasoning and as reasoning_content",
      { reasoning: "hm", reasoning_content: "hm" },
      "hm"
    ],
    ["reasoning in parts", { reasoning_details: [{ text: "h" }, { summary: "m" }, { data: "x" }, null] }, "hm"],
    [
      "reasoning once if it is sent as text and in parts",
      { reasoning: "hm", reasoning_details: [{ text: "hm" }] },
      "hm"
    ],
    [
      "a tool call's name and arguments",
      { tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: "{}" } }] },
      "f{}"
    ],
    ["a custom tool call's name and input", { tool_calls: [{ custom: { name: "c", input: "x" } }] }, "cx"],
    [
      "text and reasoning from a list of content parts",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "hi" }
        ]
      },
      "hmhi"
    ],
    ["reasoning that is the text of a part", { content: [{ type: "thinking", thinking: "hm" }] }, "hm"],
    ["nothing for a role", { role: "assistant", content: null }, ""],
    ["nothing for an unknown shape", { content: 7, tool_calls: "x" }, ""]
  ])("contains %s", (_, delta, content) => {
    expect(ChatDelivered.contentOf(chunk(delta))).toBe(content)
  })

  it("includes every choice", () => {
    expect(ChatDelivered.contentOf({ choices: [{ delta: { content: "a" } }, { delta: { content: "b" } }] })).toBe("ab")
  })

  it("is read from the messages of a whole completion", () => {
    expect(ChatDelivered.contentOf({ choices: [{ message: { role: "assistant", content: "whole" } }] })).toBe("whole")
  })

  property(
    "is the concatenation of all deltas",
    [FastCheck.array(FastCheck.string()), FastCheck.nat()],
    (texts, cut) => {
      const frames = texts.map((content) => chunk({ content }))
      const all = contentOfAll(frames)
      return all === texts.join("") && all.startsWith(contentOfAll(frames.slice(0, cut)))
    }
  )
})

describe("chat usage", () => {
  it("subtracts cache reads from the prompt tokens", () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 5,
      total_tokens: 105,
      prompt_tokens_details: { cached_tokens: 60 }
    }
    expect(ChatDelivered.usageOf(usage)).toEqual({
      prompt: { input: 40n, cacheWrite: 0n, cacheRead: 60n },
      output: 5n
    })
  })

  it("subtracts cache writes from the prompt tokens", () => {
    const prompt_tokens_details = { cached_tokens: 60, cache_write_tokens: 30 }
    expect(ChatDelivered.usageOf({ prompt_tokens: 100, prompt_tokens_details }).prompt).toEqual({
      input: 10n,
      cacheWrite: 30n,
      cacheRead: 60n
    })
  })

  it("adds reasoning to the output if the provider counts it separately", () => {
    const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35 }
    const outputWith = (reasoning_tokens: number) =>
      ChatDelivered.usageOf({ ...reported, completion_tokens_details: { reasoning_tokens } }).output
    expect([outputWith(20), outputWith(99)]).toEqual([25n, 25n])
  })

  it("adds at most the reported reasoning tokens if the total exceeds prompt and output", () => {
    const inflated = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 9_000_000 }
    expect(ChatDelivered.usageOf(inflated).output).toBe(5n)
    const partly = { ...inflated, completion_tokens_details: { reasoning_tokens: 3 } }
    expect(ChatDelivered.usageOf(partly).output).toBe(8n)
  })

  it("does not use the total if the prompt is unreported", () => {
    for (const member of [
      { completion_tokens: 5, total_tokens: 105 },
      { prompt_tokens: "100", completion_tokens: 5, total_tokens: 105 }
    ]) {
      expect(ChatDelivered.usageOf(member)).toEqual({ prompt: undefined, output: 5n })
    }
    const reports = [{ prompt_tokens: 100 }, { completion_tokens: 5, total_tokens: 105 }].map(ChatDelivered.usageOf)
    expect(reports.reduce(ReportedUsage.merge)).toMatchObject({ prompt: { input: 100n }, output: 5n })
  })

  it("ignores a token count above ten million", () => {
    const vast = ChatDelivered.usageOf({ prompt_tokens: 1e300, completion_tokens: 10_000_001, total_tokens: 1e301 })
    expect(vast).toEqual({ prompt: undefined, output: undefined })
    const total = ChatDelivered.usageOf({ prompt_tokens: 10, completion_tokens: 10_000_000, total_tokens: 1e12 })
    expect(total.output).toBe(10_000_000n)
  })

  it.each([null, undefined, "12", { prompt_tokens: -1 }, { prompt_tokens: "9" }])(
    "is unreported if the `usage` member is %j",
    (usage) => {
      expect(ChatDelivered.usageOf(usage)).toEqual({ prompt: undefined, output: undefined })
    }
  )

  it("is zero if the provider reports zero", () => {
    expect(ChatDelivered.usageOf({ completion_tokens: 0 }).output).toBe(0n)
  })
})

describe("the text of a chat prompt", () => {
  it("contains messages, tool calls and tool definitions", () => {
    const { text, extraTokens } = promptText({
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
          ]
        },
        { role: "assistant", tool_calls: [{ function: { name: "look", arguments: '{"at":1}' } }] }
      ],
      tools: [{ type: "function", function: { name: "look" } }]
    })
    expect(text).toContain("What is this?")
    expect(text).toContain('{"at":1}')
    expect(text).toContain('"name":"look"')
    expect(text).not.toContain("base64")
    expect(extraTokens).toBe(3 + 3 * 3 + 765)
  })

  it("has no attachment for a part with an empty text", () => {
    const content = [
      { type: "text", text: "" },
      { type: "refusal", refusal: "" }
    ]
    expect(promptText({ messages: [{ role: "user", content }] }).extraTokens).toBe(3 + 3)
  })

  it("has no attachment for a part that is not an image, a sound, a video or a file", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "reference", reference_ids: [1] }
    ]
    const { text, extraTokens } = promptText({ messages: [{ role: "assistant", content }] })
    expect(text).toBe("assistanthm")
    expect(extraTokens).toBe(3 + 3)
  })

  it("contains the calls of custom tools and of functions", () => {
    const calls = { tool_calls: [{ type: "custom", custom: { name: "c", input: "x" } }] }
    const legacy = { function_call: { name: "f", arguments: "{}" } }
    expect(promptText({ messages: [calls, legacy] }).text).toBe("cxf{}")
  })

  it.each([
    ["reasoning_content", { reasoning_content: "hm" }],
    ["reasoning", { reasoning: "hm" }],
    ["reasoning_details", { reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "no text" }] }],
    ["thinking_blocks", { thinking_blocks: [{ type: "thinking", thinking: "hm", signature: "no text" }] }],
    ["a part of the content", { content: [{ type: "thinking", thinking: "hm" }] }],
    ["refusal", { refusal: "hm" }]
  ])("contains what the client sends back in %s of a message", (_, members) => {
    expect(promptText({ messages: [{ role: "assistant", ...members }] }).text).toBe("assistanthm")
  })

  it("contains reasoning once, in its longest form, if a message repeats it", () => {
    const message = {
      role: "assistant",
      content: "Hello",
      reasoning_content: "h",
      reasoning: "hm",
      reasoning_details: [{ text: "long" }, { summary: "er" }],
      thinking_blocks: [{ thinking: "long" }]
    }
    expect(promptText({ messages: [message] }).text).toBe("assistantHellolonger")
  })

  it("is empty for a malformed body", () => {
    expect(promptText([1, 2]).text).toBe("")
    expect(promptText({ messages: [null, 7, { content: [null] }] }).text).toBe("")
  })
})
