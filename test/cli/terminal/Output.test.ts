import { floorToUsd, floorToUsdMicro, UsdPico } from "@tollgate/domain/money/UsdPico"
import { describe, expect, it } from "vitest"
import { paygDocument } from "../../../apps/cli/src/commands/Amounts.ts"
import { count, encode, printableLine, timestamp } from "../../../apps/cli/src/terminal/Output.ts"

describe("a JSON document", () => {
  it("has timestamps in UTC with milliseconds", () => {
    expect(timestamp(new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6)))).toBe("2026-01-02T03:04:05.006Z")
    expect(timestamp(new Date(Date.UTC(2026, 0, 2)))).toBe("2026-01-02T00:00:00.000Z")
  })

  it("has the exact digits of the largest token count", () => {
    expect(encode({ tokens: count(2n ** 53n - 1n) })).toContain("9007199254740991")
  })

  it("has balances that are rounded down", () => {
    const almostThree = UsdPico(2_999_999_999_999n)
    expect(paygDocument(almostThree)).toEqual({ currency: "USD", balance: "2.999999", balance_usd_micro: "2999999" })
    expect(paygDocument(UsdPico(0n))).toEqual({ currency: "USD", balance: "0.000000", balance_usd_micro: "0" })
  })

  it("has the same digits in USD and micro-USD", () => {
    const most = UsdPico(9_223_372_036_854_775_807n)
    expect(floorToUsd(most).replace(".", "")).toBe(floorToUsdMicro(most))
  })
})

describe("a printed line", () => {
  it("escapes every character that ends or reorders a line", () => {
    const all = String.fromCharCode(...Array.from({ length: 0x1_0000 }, (_, code) => code))
    expect(printableLine(all)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
  })
})
