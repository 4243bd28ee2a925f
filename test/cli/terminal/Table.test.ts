import { describe, expect, it } from "vitest"
import { table } from "../../../apps/cli/src/terminal/Table.ts"

describe("a table", () => {
  const columns = [
    { heading: "model", cell: (row: { model: string; tokens: bigint }) => row.model },
    {
      heading: "tokens",
      cell: (row: { model: string; tokens: bigint }) => row.tokens.toString(),
      align: "right" as const
    }
  ]

  it("has columns as wide as their widest cell", () => {
    const rows = [
      { model: "gpt-5-mini", tokens: 7n },
      { model: "o4", tokens: 2_000_000n }
    ]
    expect(table(columns, rows).split("\n")).toEqual([
      "MODEL        TOKENS",
      "gpt-5-mini        7",
      "o4          2000000"
    ])
  })

  it("shows its headings when there are no rows", () => {
    expect(table(columns, [])).toBe("MODEL  TOKENS")
  })

  it("escapes line breaks and control characters", () => {
    const text = table(columns, [{ model: "a\nb\u001b[31m\u202ec", tokens: 1n }])
    expect(text.split("\n")).toEqual(["MODEL                       TOKENS", "a\\u{a}b\\u{1b}[31m\\u{202e}c       1"])
  })

  it.each([
    ["\u{1f71a}e\u0301", 2],
    ["株式会社", 8],
    ["가게", 4],
    ["ﾄｰｸﾝ", 4],
    ["ＡＢ", 4],
    ["नमस्ते", 4],
    ["🙂", 2]
  ])("gives the text %s %i columns of the terminal", (model, width) => {
    const rows = [model, "abcdefghij"].map((model) => ({ model, tokens: 1n }))
    const [, first, second] = table(columns, rows).split("\n")
    expect(first).toBe(`${model}${" ".repeat(10 - width)}       1`)
    expect(second).toBe("abcdefghij       1")
  })

  it("has any number of rows", () => {
    const rows = Array.from({ length: 150_000 }, () => ({ model: "m", tokens: 1n }))
    expect(table(columns, rows).split("\n").length).toBe(150_001)
  })
})
