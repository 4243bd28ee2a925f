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

  it("measures width in characters", () => {
    const rows = [
      { model: "🜚é", tokens: 1n },
      { model: "abcdef", tokens: 1n }
    ]
    const [, first = "", second = ""] = table(columns, rows).split("\n")
    expect([...first].length).toBe([...second].length)
  })
})
