import { contentOfEvent, contentOfResponse, usageOf, usageOfEvent } from "@tollgate/domain/inference/ResponsesDelivered"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

describe("the content of a responses event", () => {
  it.each([
    ["text", { type: "response.output_text.delta", delta: "hi" }, "hi"],
    ["a refusal", { type: "response.refusal.delta", delta: "no" }, "no"],
    ["reasoning", { type: "response.reasoning_text.delta", delta: "hm" }, "hm"],
    ["a summary of reasoning", { type: "response.reasoning_summary_text.delta", delta: "hm" }, "hm"],
    ["the arguments of a call", { type: "response.function_call_arguments.delta", delta: '{"a"' }, '{"a"'],
    ["arguments of a remote tool", { type: "response.mcp_call_arguments.delta", delta: "{}" }, "{}"],
    ["the input of a custom tool", { type: "response.custom_tool_call_input.delta", delta: "ls" }, "ls"],
    ["the code for a code interpreter", { type: "response.code_interpreter_call_code.delta", delta: "1+1" }, "1+1"],
    ["the transcript of audio", { type: "response.audio.transcript.delta", delta: "hello" }, "hello"],
    ["text in a delta event of an unknown type", { type: "response.sonnet.delta", delta: "rose" }, "rose"],
    ["the name of a call", { type: "response.output_item.added", item: { type: "function_call", name: "f" } }, "f"],
    ["nothing for audio", { type: "response.audio.delta", delta: "UklGRg==" }, ""],
    ["nothing for the start of an item", { type: "response.output_item.added", item: { type: "message" } }, ""],
    ["nothing for a repeated text", { type: "response.output_text.done", text: "hi" }, ""],
    [
      "nothing for repeated arguments",
      { type: "response.function_call_arguments.done", name: "f", arguments: "{}" },
      ""
    ],
    [
      "nothing for a repeated item",
      { type: "response.output_item.done", item: { type: "function_call", name: "f" } },
      ""
    ],
    ["nothing for encrypted reasoning", { type: "response.output_item.added", item: { encrypted_content: "x" } }, ""],
    [
      "nothing for the completed response",
      { type: "response.completed", response: { output: [{ content: "hi" }] } },
      ""
    ],
    ["nothing for a delta without text", { type: "response.output_text.delta", delta: { text: 7 } }, ""],
    ["nothing for an object that is not an event", { delta: "hi" }, ""]
  ])("contains %s", (_, event, content) => {
    expect(contentOfEvent(event)).toBe(content)
  })

  property(
    "is the delta of the event",
    [FastCheck.fullUnicodeString(), FastCheck.constantFrom("output_text", "refusal", "reasoning_text", "x")],
    (delta, kind) => contentOfEvent({ type: `response.${kind}.delta`, delta }) === delta
  )

  property(
    "is a string for any event",
    [
      FastCheck.object(),
      FastCheck.constantFrom("response.x.delta", "response.output_item.added", "response.completed")
    ],
    (event, type) => typeof contentOfEvent({ ...event, type }) === "string"
  )
})

describe("the content of a whole response", () => {
  it("includes the patch of an apply_patch call, as the deltas of a stream do", () => {
    const call = { type: "apply_patch_call", operation: { type: "update_file", path: "a.txt", diff: "-a\n+b" } }
    expect(contentOfResponse({ output: [call] })).toBe("-a\n+b")
    expect(contentOfEvent({ type: "response.apply_patch_call_operation_diff.delta", delta: "-a\n+b" })).toBe("-a\n+b")
  })

  it.each([
    [
      "a shell command",
      {
        type: "local_shell_call",
        call_id: "call_1",
        action: { type: "exec", command: ["bash", "-lc", "ls"], env: { A: "b" }, timeout_ms: 9, user: null }
      },
      "bash -lc ls b"
    ],
    ["a typed text", { type: "computer_call", action: { type: "type", text: "hello" } }, "hello"],
    ["pressed keys", { type: "computer_call", actions: [{ type: "keypress", keys: ["CTRL", "C"] }] }, "CTRL C"],
    ["a search for tools", { type: "tool_search_call", arguments: { query: "mail" } }, '{"query":"mail"}'],
    ["a call to approve", { type: "mcp_approval_request", arguments: '{"a":1}' }, '{"a":1}']
  ])("includes %s, as the stream does when the call is done", (_, item, content) => {
    expect(contentOfResponse({ output: [item] })).toBe(content)
    expect(contentOfEvent({ type: "response.output_item.added", item })).toBe("")
    expect(contentOfEvent({ type: "response.output_item.done", item })).toBe(content)
  })

  it("includes shell commands, which a stream sends in deltas", () => {
    const item = { type: "shell_call", action: { commands: ["ls", "pwd"], timeout_ms: 9 } }
    expect(contentOfResponse({ output: [item] })).toBe("ls pwd")
    expect(contentOfEvent({ type: "response.output_item.done", item })).toBe("")
  })

  it("does not include the queries of hosted search tools", () => {
    const item = { type: "web_search_call", action: { type: "search", query: "news" }, queries: ["news"] }
    expect(contentOfResponse({ output: [item] })).toBe("")
  })

  it("includes reasoning, text, refusals and calls", () => {
    const output = [
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "a" }],
        content: [{ type: "reasoning_text", text: "b" }],
        encrypted_content: "secret"
      },
      {
        type: "message",
        content: [
          { type: "output_text", text: "c" },
          { type: "refusal", refusal: "d" }
        ]
      },
      { type: "function_call", name: "e", arguments: "f" },
      { type: "custom_tool_call", name: "g", input: "h" },
      { type: "mcp_call", name: "i", arguments: "j", output: "what the tool said" },
      { type: "code_interpreter_call", code: "k", outputs: [{ logs: "what came of it" }] },
      { type: "image_generation_call", result: "iVBORw0KGgo" }
    ]
    expect(contentOfResponse({ output })).toBe("abcdefghijk")
  })

  property("is a string for any response", [FastCheck.anything()], (output) => {
    return (
      typeof contentOfResponse({ output }) === "string" && typeof contentOfResponse({ output: [output] }) === "string"
    )
  })
})

describe("responses usage", () => {
  it("subtracts cache reads and cache writes from the input tokens", () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      output_tokens: 5,
      total_tokens: 105
    }
    expect(usageOf(usage)).toEqual({ prompt: { input: 10n, cacheWrite: 30n, cacheRead: 60n }, output: 5n })
  })

  it("adds reasoning to the output if the provider counts it separately", () => {
    const reported = { input_tokens: 10, output_tokens: 5, total_tokens: 35 }
    expect(usageOf({ ...reported, output_tokens_details: { reasoning_tokens: 20 } }).output).toBe(25n)
    expect(usageOf(reported).output).toBe(5n)
    expect(usageOf({ output_tokens: 5, total_tokens: 105 })).toEqual({ prompt: undefined, output: 5n })
  })

  it.each([null, undefined, "12", { input_tokens: -1 }, { input_tokens: "9", output_tokens: null }])(
    "is unreported if the `usage` member is %j",
    (usage) => {
      expect(usageOf(usage)).toEqual({ prompt: undefined, output: undefined })
    }
  )

  it("is zero if the provider reports zero", () => {
    expect(usageOf({ output_tokens: 0 }).output).toBe(0n)
  })

  const response = { usage: { input_tokens: 7, output_tokens: 3 } }
  it.each(["response.completed", "response.incomplete", "response.failed"])("is read from the event %s", (type) => {
    expect(usageOfEvent({ type, response })).toEqual({
      prompt: { input: 7n, cacheWrite: 0n, cacheRead: 0n },
      output: 3n
    })
  })

  it.each(["response.created", "response.in_progress", "response.output_item.done"])(
    "is not read from the event %s",
    (type) => {
      expect(usageOfEvent({ type, response })).toEqual({ prompt: undefined, output: undefined })
    }
  )

  const count = FastCheck.oneof(FastCheck.nat(1_000_000), FastCheck.constant(undefined), FastCheck.constant(-1))
  property(
    "has prompt tokens that add up to the reported input tokens",
    [count, count, count, count],
    (input, output, cached, written) => {
      const { prompt, output: reportedOutput } = usageOf({
        input_tokens: input,
        output_tokens: output,
        input_tokens_details: { cached_tokens: cached, cache_write_tokens: written }
      })
      const sum = prompt && prompt.input + prompt.cacheRead + prompt.cacheWrite
      const whole = (count: number | undefined) => (count === undefined || count < 0 ? undefined : BigInt(count))
      return sum === whole(input) && reportedOutput === whole(output)
    }
  )
})
