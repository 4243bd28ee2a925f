import { floorToUsdMicro, TokenRaw, tokenRawOf } from "@tollgate/domain/money/TokenRaw"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { raw, usdMicro } from "../../support/resellers.ts"

describe("raw tokens", () => {
  property("are exact for an amount in micro-USD", [usdMicro()], (amount) => {
    const exact = tokenRawOf(amount)
    return exact === amount * 1_000_000_000_000n && floorToUsdMicro(exact) === amount
  })

  property("convert to one micro-USD less if one raw unit is missing", [usdMicro()], (amount) => {
    if (amount === 0n) return true
    return floorToUsdMicro(TokenRaw(tokenRawOf(amount) - 1n)) === amount - 1n
  })

  property("of two payments convert to at least the sum of their conversions", [raw, raw], (a, b) => {
    const together = floorToUsdMicro(TokenRaw(a + b))
    const apart = floorToUsdMicro(a) + floorToUsdMicro(b)
    return together >= apart && together <= apart + 1n
  })

  it("are counted in units of 10^-18 dollars", () => {
    expect(floorToUsdMicro(TokenRaw(10n ** 18n))).toBe(1_000_000n)
  })
})
