import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

describe("the text of a responses prompt", () => {
  it("is one user message for a plain string", () => {
    expect(promptText({ input: "Say hello." })).toEqual({ text: "userSay hello.", extraTokens: 6 })
    expect(promptText({ input: [{ role: "user", content: "Say hello." }] })).toEqual(
      promptText({ input: "Say hello." })
    )
  })

  it("contains instructions, tools and the requested format", () => {
    const { text, extraTokens } = promptText({
      instructions: "Be brief.",
      input: "Hi.",
      tools: [{ type: "function", name: "look", parameters: {} }],
      text: { format: { type: "json_schema", name: "place" }, verbosity: "low" },
      metadata: { note: "for programs" }
    })
    expect(text).toContain("Be brief.")
    expect(text).toContain('"name":"look"')
    expect(text).toContain('"name":"place"')
    expect(text).not.toContain("for programs")
    expect(extraTokens).toBe(3 + 2 * 3)
  })

  it("contains messages and calls without attachments", () => {
    const { text, extraTokens } = promptText({
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "What is this?" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "high" },
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" }
          ]
        },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAA" },
        { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: '{"at":1}' },
        { type: "function_call_output", call_id: "call_1", output: "a cat" },
        { type: "function_call_output", call_id: "call_2", output: [{ type: "input_text", text: "a dog" }] },
        {
          type: "computer_call_output",
          output: { type: "computer_screenshot", image_url: "data:image/png;base64,CC" }
        },
        { type: "item_reference", id: "msg_1" },
        "not an item at all"
      ]
    })
    expect(text).toBe('userWhat is this?hmlook{"at":1}a cata dognot an item at all')
    expect(extraTokens).toBe(3 + 8 * 3 + 3 * 765)
  })

  it("is empty for a malformed body", () => {
    for (const nonsense of [[1, 2], null, "x", { input: 7, tools: null }, { input: [null, 7] }]) {
      expect(promptText(nonsense).text).toBe("")
    }
  })

  property("contains the text of every message", [FastCheck.array(FastCheck.string(), { maxLength: 5 })], (texts) => {
    const input = texts.map((text) => ({ role: "user", content: [{ type: "input_text", text }] }))
    return promptText({ input }).text === texts.map((text) => `user${text}`).join("")
  })

  property("is a string for any body", [FastCheck.object()], (body) => typeof promptText(body).text === "string")
})
