import { scanner } from "@tollgate/adapters-http/wire/JsonScan"
import { MAX_PARSED_BYTES, promptIn } from "@tollgate/adapters-http/wire/PromptMembers"
import { TextSamples } from "@tollgate/adapters-http/wire/TextSamples"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const scan = scanner({ members: { messages: { each: "role" } }, media: { members: ["url"], types: ["image_url"] } })

const promptOf = (text: string, parse = promptText) => {
  const body = Buffer.from(text)
  return promptIn(body, Either.getOrThrow(scan(body)), parse)
}
const chatOf = (content: string) => `{"messages":[{"role":"user","content":${content}}]}`
const neverParsed = () => {
  throw new Error("the prompt was parsed")
}

describe("the prompt of a body", () => {
  it("is parsed if it is small", () => {
    const rest = `"x":[${Array(50_000).fill("{}").join()}]`
    expect(promptOf(`{${rest},${chatOf('"hello"').slice(1)}`)).toEqual({ text: "userhello", extraTokens: 6 })
  })

  it.each([
    ["bytes", chatOf(`"${"x".repeat(MAX_PARSED_BYTES)}"`), 6],
    ["values", chatOf(`[${Array(40_000).fill("{}").join()}]`), 6 + 14_987]
  ])("is not parsed if it has too many %s", (_, body, extraTokens) => {
    expect(promptOf(body, neverParsed).extraTokens).toBe(extraTokens)
  })

  it("is a bounded sample of a large text", () => {
    const { text, sampleOf } = promptOf(chatOf(`"${"1234567 ".repeat(250_000)}"`), neverParsed)
    expect(sampleOf).toEqual({ sampleBytes: text.length, textBytes: 2_000_004 })
    expect(text.length).toBeGreaterThan(100 * 1024)
    expect(text.length).toBeLessThan(257 * 1024)
    // One character of eight is a space, in the sample as in the whole text.
    expect(text.split(" ").length / text.length).toBeCloseTo(1 / 8, 2)
  })

  it("is a sample of whole characters", () => {
    const characters = ["\\n", "\\u00e9", "\\ud83d\\ude00", "é", "字", "\\\\", '\\"', "a"]
    for (const character of characters) {
      const { text } = promptOf(chatOf(`"${character.repeat(Math.ceil(600_000 / Buffer.byteLength(character)))}"`))
      const decoded: string = JSON.parse(`"${character}"`)
      const strange = text.replace("user", "").split(decoded).join("")
      // A surrogate pair in two escapes can be cut between the escapes.
      expect([character, strange.replace(/[\ud800-\udfff]/g, "")]).toEqual([character, ""])
    }
  })

  it.each([
    ["n", 65],
    ["u00e9", 700],
    ["x", 1_500],
    ["é", 1_500],
    ["n", 300_000]
  ])("is a sample of whole characters if %s follows runs of many escaped backslashes", (following, backslashes) => {
    const run = "\\".repeat(2 * backslashes) + following
    for (let shift = 0; shift < 12; shift++) {
      const value = "a".repeat(shift) + run.repeat(Math.ceil(600_000 / Buffer.byteLength(run)))
      const { text } = promptOf(chatOf(`"${value}"`), neverParsed)
      const strange = text.replace(/^user/, "").replaceAll("\\", "").replaceAll(following, "")
      // A piece may begin or end inside `following`: an even number of backslashes escapes none of its characters.
      expect([shift, strange.replace(/[au0e9]/g, "")]).toEqual([shift, ""])
    }
  })

  it("is a sample without embedded images", () => {
    const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,${"QUJD".repeat(200_000)}"}}`
    const { text, extraTokens } = promptOf(chatOf(`[${image},{"type":"text","text":"look at this"}]`), neverParsed)
    expect([text, extraTokens]).toEqual(["userimage_urltextlook at this", 6 + 765])
  })
})

/** A character or a part of a character, as JSON text, and the number of times it is repeated. */
const run = FastCheck.tuple(
  FastCheck.constantFrom("\\\\", "\\n", "\\u00e9", "\\u005c", "\\/", "é", "字", "a", "u00e9", "n", "0e9"),
  FastCheck.oneof(FastCheck.nat(5), FastCheck.nat(1_500))
)

property("a sample of a text has only characters of the text", [FastCheck.array(run, { maxLength: 12 })], (runs) => {
  const value = runs.map(([text, times]) => text.repeat(times)).join("")
  const bytes = Buffer.from(value)
  const text: string = JSON.parse(`"${value}"`)
  const samples = new TextSamples()
  samples.add(0, bytes.length, 0, Buffer.byteLength(text))
  const characters = new Set(text)
  return [...samples.textBetween(bytes, 0, bytes.length)].every((character) => characters.has(character))
})
