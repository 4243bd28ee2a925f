import { ChunkTemplate } from "@tollgate/adapters-http/inference/chat/ChunkTemplate"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"
import { usage } from "../../../support/upstream/ChatWire.ts"
import { sse, translatedStream } from "./TranslatedStream.ts"

const chunkOf = (text: string, more: object = {}) =>
  JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content: text }, finish_reason: null }], ...more })

const learned = (text: string, more: object = {}): ChunkTemplate => {
  const template = new ChunkTemplate()
  template.learn(chunkOf(text, more), text)
  return template
}

describe("the template of a chunk", () => {
  it("finds the text of a chunk with another text", () => {
    expect(learned(" a").textIn(chunkOf(" much longer text, with ünïcödé"))).toBe(" much longer text, with ünïcödé")
  })

  it.each([
    ["an escape", chunkOf('"')],
    ["no text", chunkOf("")],
    ["another member", chunkOf("b", { usage: usage(1, 1) })],
    ["another id", chunkOf("b").replace("x", "y")],
    ["a second member `content`", chunkOf('b","content":"c').replaceAll("\\", "")]
  ])("does not match a chunk with %s", (_, chunk) => {
    expect(learned("a").textIn(chunk)).toBe(undefined)
  })

  it("is not made if the text occurs before the delta", () => {
    expect(learned("x").textIn(chunkOf("x").replace("x", "y"))).toBe(undefined)
  })

  it("is not made from a chunk whose text is the template's placeholder", () => {
    const placeholder = "\u2047tollgate\u2047"
    expect(learned(placeholder, { id: placeholder }).textIn(chunkOf(placeholder, { id: "another" }))).toBe(undefined)
  })

  it("is not made from a very long chunk", () => {
    const more = { pad: "p".repeat(5_000) }
    expect(learned("a", more).textIn(chunkOf("b", more))).toBe(undefined)
  })
})

const text = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.constantFrom(" the", "a", "content", "stop", "assistant", "x", "null", "0") },
  { weight: 2, arbitrary: FastCheck.fullUnicodeString({ maxLength: 20 }) },
  { weight: 1, arbitrary: FastCheck.constantFrom("", '"', "\\", "\n", "\u007f", '","role":"a', "\u2028", "\\u0041") }
)
const chunk = FastCheck.tuple(
  text,
  FastCheck.oneof(
    { weight: 12, arbitrary: FastCheck.constant("text") },
    { weight: 1, arbitrary: FastCheck.constantFrom("role", "second choice", "logprobs", "stop", "usage", "reasoning") },
    { weight: 1, arbitrary: FastCheck.constantFrom("repeated text", "list", "error") }
  )
)

const frameOf = (text: string, kind: string): object => {
  const choice = { index: 0, delta: { content: text }, logprobs: null, finish_reason: null }
  switch (kind) {
    case "role":
      return { choices: [{ ...choice, delta: { role: "assistant", content: text } }] }
    case "second choice":
      return { choices: [{ ...choice, index: 1 }] }
    case "logprobs":
      return { choices: [{ ...choice, logprobs: { content: [] } }] }
    case "stop":
      return { choices: [{ ...choice, finish_reason: "stop" }] }
    case "usage":
      return { choices: [choice], usage: usage(3, 4) }
    case "reasoning":
      return { choices: [{ ...choice, delta: { content: text, reasoning: text } }] }
    case "repeated text":
      return { choices: [choice], meta: { content: text } }
    case "list":
      return { choices: [{ ...choice, delta: { content: [{ type: "text", text }] } }] }
    case "error":
      return { choices: [choice], error: text === "x" ? { message: "x" } : null }
    default:
      return { choices: [choice], usage: null }
  }
}

describe("a chat stream", () => {
  property(
    "has the same translation with and without a template",
    [FastCheck.array(chunk, { maxLength: 30 }), FastCheck.boolean()],
    (chunks, isIdFirst) => {
      // The gateway drops the id of a chunk. No template matches a chunk with another id.
      const streamWith = (idOf: (i: number) => string) =>
        sse(
          ...chunks.map(([text, kind], i) =>
            isIdFirst ? { id: idOf(i), ...frameOf(text, kind) } : { ...frameOf(text, kind), id: idOf(i) }
          ),
          "[DONE]"
        )
      const traceOf = (stream: string) => {
        const { texts, trace } = translatedStream([Buffer.from(stream)], true)
        return JSON.stringify([trace, texts])
      }
      return traceOf(streamWith(() => "same")) === traceOf(streamWith((i) => `id-${i}`))
    }
  )
})
