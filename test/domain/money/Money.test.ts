import * as Idr from "@tollgate/domain/money/Idr"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as UsdCents from "@tollgate/domain/money/UsdCents"
import { toUsdPico, UsdMicro } from "@tollgate/domain/money/UsdMicro"
import * as UsdPico from "@tollgate/domain/money/UsdPico"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { pico } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

/** Parses micro-USD to pico-USD. */
const readExact = (text: string): bigint => {
  const [whole = "", fraction = ""] = text.split(".")
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"))
}

describe("pico-USD", () => {
  it("prints the exact cost in micro-USD without trailing zeros", () => {
    expect(UsdPico.toExactUsdMicro(UsdPico.UsdPico(500_000n))).toBe("0.5")
    expect(UsdPico.toExactUsdMicro(UsdPico.UsdPico(1_234_250_000n))).toBe("1234.25")
    expect(UsdPico.toExactUsdMicro(UsdPico.UsdPico(3_000_000n))).toBe("3")
    expect(UsdPico.toExactUsdMicro(UsdPico.zero)).toBe("0")
  })

  property(
    "prints a cost from which the exact amount can be parsed",
    [pico()],
    (amount) => readExact(UsdPico.toExactUsdMicro(amount)) === amount
  )

  it("prints a balance in USD with six decimals", () => {
    expect(UsdPico.floorToUsd(UsdPico.UsdPico(12_345_678_999_999n))).toBe("12.345678")
    expect(UsdPico.floorToUsd(UsdPico.UsdPico(999_999n))).toBe("0.000000")
  })

  property("prints a balance rounded down to a whole micro-USD", [pico()], (amount) => {
    const shown = BigInt(UsdPico.floorToUsd(amount).replace(".", "")) * 1_000_000n
    return shown <= amount && amount - shown < 1_000_000n
  })

  it("refuses a negative amount", () => {
    expect(UsdPico.UsdPico.is(-1n)).toBe(false)
  })
})

describe("conversions", () => {
  const idr = FastCheck.bigInt({ min: 0n, max: 10n ** 12n }).map((n) => Idr.Idr(n))
  const cents = FastCheck.bigInt({ min: 1n, max: 100_000_000n }).map((n) => UsdCents.UsdCents(n))

  property(
    "convert 10,000 IDR to one USD of quota",
    [idr],
    (principal) => Idr.toQuotaUsdMicro(principal) * 10_000n === principal * 1_000_000n
  )

  property("round the QRIS fee of 5 % up to a whole rupiah", [idr], (principal) => {
    const fee = Idr.ceilQrisFee(principal)
    return fee * 100n >= principal * 5n && (fee - 1n) * 100n < principal * 5n
  })

  property(
    "convert a tier's required top-up to the tier's price",
    [cents],
    (price) => Idr.toQuotaUsdMicro(UsdCents.toTopupIdr(price)) === UsdCents.toUsdMicro(price)
  )

  it("convert one micro-USD to a million pico-USD", () => {
    expect(toUsdPico(UsdMicro(1n))).toBe(1_000_000n)
  })
})

describe("token counts", () => {
  property("are within the accepted range for any reported number", [FastCheck.double()], (count) => {
    const tokens = Tokens.fromCount(count)
    return tokens >= 0n && tokens <= Tokens.MAX_PER_CLASS
  })

  it("are unchanged for whole numbers", () => {
    expect(Tokens.fromCount(0)).toBe(0n)
    expect(Tokens.fromCount(123_456)).toBe(123_456n)
  })

  it("are 0 for NaN", () => {
    expect(Tokens.fromCount(Number.NaN)).toBe(0n)
  })
})
