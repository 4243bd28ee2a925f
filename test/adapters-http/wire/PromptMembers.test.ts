import { scanner } from "@tollgate/adapters-http/wire/JsonScan"
import { MAX_PARSED_BYTES, promptIn } from "@tollgate/adapters-http/wire/PromptMembers"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import { Either } from "effect"
import { describe, expect, it } from "vitest"

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
    ["bytes", chatOf(`"${"x".repeat(MAX_PARSED_BYTES)}"`)],
    ["values", chatOf(`[${Array(40_000).fill("{}").join()}]`)]
  ])("is not parsed if it has too many %s", (_, body) => {
    expect(promptOf(body, neverParsed).extraTokens).toBe(6)
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

  it("is a sample without embedded images", () => {
    const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,${"QUJD".repeat(200_000)}"}}`
    const { text, extraTokens } = promptOf(chatOf(`[${image},{"type":"text","text":"look at this"}]`), neverParsed)
    expect([text, extraTokens]).toEqual(["userimage_urltextlook at this", 6 + 765])
  })
})
