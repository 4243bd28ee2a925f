import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import { WINDOW_BYTES, windowEnd } from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { Effect, FastCheck } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const count = (text: string): Promise<bigint> =>
  Effect.runPromise(
    Effect.provide(
      Effect.flatMap(TokenCounter, (counter) => counter.count(text)),
      GptTokenCounter.layer
    )
  )

const windowsOf = (text: string): ReadonlyArray<string> => {
  const windows: Array<string> = []
  for (let start = 0; start < text.length; ) {
    const end = windowEnd(text, start)
    windows.push(text.slice(start, end))
    start = end
  }
  return windows
}

const prose =
  "A gateway stands between a caller and many providers; it counts what passes, holds what may be owed and " +
  "charges what arrived.\n\nconst total = prompt + completion // 12,345 tokens: naïve, 世界, 👩‍👩‍👧‍👦!\n"

const anyText = FastCheck.array(
  FastCheck.oneof(
    FastCheck.fullUnicodeString(),
    FastCheck.string({ unit: "grapheme" }),
    FastCheck.constantFrom(
      " ",
      "\n",
      "x".repeat(1_500),
      "界".repeat(700),
      "👩‍👩‍👧‍👦".repeat(90),
      "\ud800",
      "\udc00",
      prose
    )
  ),
  { maxLength: 12 }
).map((parts) => parts.join(""))

describe("the windows of a text", () => {
  property("give the original text when they are joined", [anyText], (text) => windowsOf(text).join("") === text)

  property("are never larger than WINDOW_BYTES", [anyText], (text) =>
    windowsOf(text).every((window) => window.length > 0 && Buffer.byteLength(window) <= WINDOW_BYTES)
  )

  property("never divide a character", [anyText], (text) =>
    windowsOf(text).every((window, i, all) => {
      const next = all[i + 1]
      return next === undefined || !(/[\ud800-\udbff]$/.test(window) && /^[\udc00-\udfff]/.test(next))
    })
  )

  property("have in pairs more than WINDOW_BYTES / 3 characters", [anyText], (text) => {
    // A short window ends before a long word that did not fit. Two neighbouring windows are therefore never both
    // short, so the time of the counting is linear in the length of the text.
    const windows = windowsOf(text)
    return windows.every((window, i) => {
      const next = windows[i + 1]
      return next === undefined || i + 2 >= windows.length || window.length + next.length > WINDOW_BYTES / 3
    })
  })

  it("end before a blank if they contain a blank", () => {
    const windows = windowsOf(prose.repeat(40))
    expect(windows.length).toBeGreaterThan(5)
    for (const window of windows.slice(1)) expect(window).toMatch(/^\s/)
  })
})

describe("the token counter", () => {
  it("returns the sum of the counts of the windows", async () => {
    const text = "a".repeat(200_000)
    const windows = windowsOf(text)
    expect(windows.length).toBe(Math.ceil(text.length / WINDOW_BYTES))
    expect(await count(text)).toBe(BigInt(windows.reduce((sum, window) => sum + countTokens(window), 0)))
  })

  it("differs by at most 0.1 % from the count of the undivided text", async () => {
    const text = prose.repeat(200)
    const whole = countTokens(text)
    expect(Math.abs(Number(await count(text)) - whole)).toBeLessThanOrEqual(whole / 1_000)
  })

  it("returns the library's count for a text of one window", async () => {
    expect(await count(prose)).toBe(BigInt(countTokens(prose)))
  })

  it("returns zero for an empty text", async () => {
    expect(await count("")).toBe(0n)
  })

  it("counts control tokens as plain text", async () => {
    expect(await count("<|endoftext|>")).toBeGreaterThan(1n)
    expect(await count("\ud800 and \udc00")).toBeGreaterThan(0n)
  })

  it("yields to the event loop while it counts a long text", async () => {
    const hostile = Array.from({ length: 60_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919) % 20_000))).join(
      ""
    )
    await count("load the vocabulary")
    let turns = 0
    let counting = true
    const turn = () => {
      turns += 1
      if (counting) setImmediate(turn)
    }
    setImmediate(turn)
    await count(hostile)
    counting = false
    expect(turns).toBeGreaterThan(3)
  })
})
