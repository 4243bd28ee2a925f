import { floorUsdMicroOf, idrOf, usdDigits, usdMicroOf } from "@tollgate/adapters-upstream/topup/wire/WireAmounts"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"

describe("an amount in rupiah", () => {
  it("is read from a number with zeros after the decimal point", () => {
    expect(["105000", "105000.00", "105000.0", "0"].map(idrOf)).toEqual([105_000n, 105_000n, 105_000n, 0n])
  })

  it("is not read from a text of another form", () => {
    const others = ["", "105000.50", "105000.000", "105,000", "-1", "1e5", " 1", "1.", "٣", "9".repeat(19)]
    expect(others.map(idrOf)).toEqual(others.map(() => undefined))
  })
})

describe("an amount in dollars", () => {
  it("is read as it was written", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.bigInt(0n, 10n ** 18n), (micro) => {
        expect(usdMicroOf(usdDigits(UsdMicro(micro)))).toBe(micro)
      })
    )
  })

  it("is written without trailing zeros", () => {
    const amounts = [25_000_000n, 25_500_000n, 25_000_123n, 1n, 0n]
    expect(amounts.map((micro) => usdDigits(UsdMicro(micro)))).toEqual(["25", "25.5", "25.000123", "0.000001", "0"])
  })

  it("can have an exponent", () => {
    expect(["1e-6", "2.5E1", "25.000123e0", "1e+2", "0.0000010e0"].map(usdMicroOf)).toEqual([
      1n,
      25_000_000n,
      25_000_123n,
      100_000_000n,
      1n
    ])
  })

  it("is not read if it is not below 10^60 micro-USD", () => {
    for (const text of ["1e80", "9e99", "1e54"]) {
      expect([usdMicroOf(text), floorUsdMicroOf(text)], text).toEqual([undefined, undefined])
    }
    expect(floorUsdMicroOf("9e53")).toBe(9n * 10n ** 59n)
  })

  it("with a fraction of a micro-USD is not read", () => {
    expect(usdMicroOf("25.0001230000001")).toBeUndefined()
  })

  it("is rounded down by floorUsdMicroOf", () => {
    expect(floorUsdMicroOf("25.0001239999999")).toBe(25_000_123n)
    expect(floorUsdMicroOf("24.9999999999999999")).toBe(24_999_999n)
    for (const text of ["", "-1", "1,5", "NaN", "Infinity", "0x10", ".5", "1e999", `1${"0".repeat(30)}`]) {
      expect(floorUsdMicroOf(text), text).toBeUndefined()
    }
  })
})
