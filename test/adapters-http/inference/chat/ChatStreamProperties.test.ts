import { contentOf } from "@tollgate/domain/inference/ChatDelivered"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { FastCheck } from "effect"
import { describe } from "vitest"
import { property } from "../../../support/property.ts"
import { usage, usageChunk } from "../../../support/upstream/ChatWire.ts"
import { sse, translatedStream } from "./TranslatedStream.ts"

const SECRET = "sup3r-secret"

const text = FastCheck.fullUnicodeString({ maxLength: 12 })
const count = FastCheck.nat(1_000)

const callDelta = FastCheck.record(
  {
    index: FastCheck.nat(2),
    id: FastCheck.constantFrom("call_1", "call_2"),
    type: FastCheck.constant("function"),
    function: FastCheck.record({ name: text, arguments: text }, { requiredKeys: [] })
  },
  { requiredKeys: ["function"] }
)
const delta = FastCheck.record(
  {
    role: FastCheck.constantFrom("assistant", null, ""),
    content: FastCheck.oneof(text, FastCheck.constant(null)),
    refusal: text,
    reasoning_content: text,
    reasoning: text,
    reasoning_details: FastCheck.constant([{ type: "reasoning.text", provider: SECRET }]),
    tool_calls: FastCheck.array(callDelta, { maxLength: 2 }),
    provider_specific_fields: FastCheck.constant({ [SECRET]: 1 })
  },
  { requiredKeys: [] }
)
const choice = FastCheck.record(
  {
    index: FastCheck.nat(1),
    delta,
    finish_reason: FastCheck.constantFrom(null, null, null, "stop", "eos", ""),
    native_finish_reason: FastCheck.constant(SECRET),
    content_filter_results: FastCheck.constant({ [SECRET]: true })
  },
  { requiredKeys: ["index", "delta"] }
)
const providerMembers = {
  id: SECRET,
  object: SECRET,
  created: SECRET,
  model: SECRET,
  provider: SECRET,
  system_fingerprint: SECRET,
  [SECRET]: SECRET
}
const frame = FastCheck.oneof(
  {
    weight: 8,
    arbitrary: FastCheck.array(choice, { maxLength: 2 }).map((choices) => ({ ...providerMembers, choices }))
  },
  {
    weight: 2,
    arbitrary: FastCheck.tuple(count, count).map(([prompt, completion]) => ({
      ...usageChunk(usage(prompt, completion)),
      ...providerMembers,
      usage: { ...usage(prompt, completion), cost: SECRET, prompt_tokens_details: { cached_tokens: 1, [SECRET]: 2 } }
    }))
  },
  { weight: 1, arbitrary: FastCheck.constant({ type: "ping", ...providerMembers }) }
)
const ending = FastCheck.constantFrom<ReadonlyArray<object | string>>(
  ["[DONE]"],
  [],
  [{ error: { message: SECRET, code: SECRET } }],
  [SECRET]
)
const sent = FastCheck.tuple(FastCheck.array(frame, { maxLength: 8 }), ending).map(([frames, last]) =>
  Buffer.from(sse(...frames, ...last))
)

const chunksOf = (bytes: Buffer): ReadonlyArray<JsonObject> =>
  translatedStream([bytes], true)
    .frames.map((it) => asObject(it) ?? {})
    .filter((it) => it.id !== undefined)
const choicesOf = (chunks: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  chunks.flatMap((it) => asArray(it.choices)).map((it) => asObject(it) ?? {})
const choicesByIndex = (bytes: Buffer): ReadonlyArray<ReadonlyArray<JsonObject>> =>
  [0, 1].map((index) => choicesOf(chunksOf(bytes)).filter((it) => it.index === index))
const keysOf = (object: JsonObject): string => Object.keys(object).join()

describe("a translated chat stream", () => {
  property("reports the content of its frames", [sent], (bytes) => {
    const { content } = translatedStream([bytes], true)
    return content === chunksOf(bytes).map(contentOf).join("")
  })

  property("reports the content of each choice separately", [sent], (bytes) => {
    const texts = choicesByIndex(bytes).map((choices) => choices.map((it) => contentOf({ choices: [it] })).join(""))
    return (
      JSON.stringify([...translatedStream([bytes], true).texts].sort()) ===
      JSON.stringify(texts.filter((text) => text !== "").sort())
    )
  })

  property("never identifies the provider", [sent], (bytes) => !translatedStream([bytes], true).text.includes(SECRET))

  property(
    "contains only the documented members in each chunk and choice",
    [sent],
    (bytes) =>
      chunksOf(bytes).every((it) => /^id,object,created,model,choices(,usage)?$/.test(keysOf(it))) &&
      choicesOf(chunksOf(bytes)).every((it) => keysOf(it) === "index,delta,finish_reason")
  )

  property("begins each choice with its role", [sent], (bytes) =>
    choicesByIndex(bytes).every((choices) =>
      choices.every((it, i) => (asObject(it.delta)?.role === "assistant") === (i === 0))
    )
  )

  property("has at most one finish reason for each choice", [sent], (bytes) => {
    const { end } = translatedStream([bytes], true)
    return choicesByIndex(bytes).every((choices) => {
      const finishes = choices.filter((it) => it.finish_reason !== null)
      return (
        finishes.every((it) => keysOf(asObject(it.delta) ?? {}) === "") &&
        (end === "complete" && choices.length > 0 ? finishes.length === 1 : finishes.length <= 1)
      )
    })
  })

  property("contains usage at most once", [sent], (bytes) => {
    const chunks = chunksOf(bytes)
    const usages = chunks.map((it) => asObject(it.usage)).filter((it) => it !== undefined)
    return (
      usages.length <= 1 &&
      (usages.length === 0 || chunks.at(-1)?.usage !== undefined) &&
      usages.every((it) => it.total_tokens === Number(it.prompt_tokens) + Number(it.completion_tokens))
    )
  })

  property("ends with [DONE] if and only if it is complete", [sent], (bytes) => {
    const { frames, end } = translatedStream([bytes], true)
    return (
      frames.filter((it) => it === "[DONE]").length === (end === "complete" ? 1 : 0) &&
      !frames.slice(0, -1).includes("[DONE]")
    )
  })

  property("keeps its frames when more bytes arrive", [sent, FastCheck.nat()], (bytes, at) => {
    const whole = translatedStream([bytes], true)
    const part = translatedStream([bytes.subarray(0, at % (bytes.length + 1))], true)
    const written = part.text.replace(/data: \[DONE\]\n\n$/, "")
    return part.end === "complete" || (whole.text.startsWith(written) && whole.content.startsWith(part.content))
  })
})
