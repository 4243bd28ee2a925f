import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { countOf, rupiahOf, typedDollars, usdMicroOf } from "../../apps/console/src/format/Amounts.ts"
import { formatOf } from "../../apps/console/src/format/Format.ts"
import { texts as english } from "../../apps/console/src/i18n/en.ts"
import { texts as indonesian } from "../../apps/console/src/i18n/id.ts"
import { operatorTables } from "../../apps/console/src/i18n/OperatorTexts.ts"

const languages = ["id", "en"] as const

const readAll = <A>(read: (typed: string, language: "id" | "en") => A, language: "id" | "en", typed: string) =>
  typed.split(" ").map((each) => read(each, language))

const none = (count: number) => Array.from({ length: count }, () => undefined)

describe.each(languages)("an amount in the language %s", (language) => {
  const format = formatOf(language)

  it("is read as the amount that the console shows", () => {
    const micro = FastCheck.integer({ min: 0, max: 999_999_999_999_999 })
    const whole = FastCheck.integer({ min: 0, max: 999_999_999_999 })
    FastCheck.assert(
      FastCheck.property(micro, whole, (usdMicro, count) => {
        expect(usdMicroOf(format.usd(usdMicro), language)).toBe(usdMicro)
        expect(usdMicroOf(typedDollars(usdMicro, language), language)).toBe(usdMicro)
        expect(rupiahOf(format.idr(count), language)).toBe(count)
        expect(countOf(format.count(count), language)).toBe(count)
        expect(countOf(String(count), language)).toBe(count)
      })
    )
  })

  it("is refused with the group separators of the other language", () => {
    const other = formatOf(language === "id" ? "en" : "id")
    const grouped = FastCheck.integer({ min: 1_000, max: 999_999_999 })
    FastCheck.assert(
      FastCheck.property(grouped, (amount) => {
        expect(countOf(other.count(amount), language)).toBeUndefined()
        expect(rupiahOf(other.idr(amount), language)).toBeUndefined()
        expect(usdMicroOf(other.usd(amount * 1_000_000), language)).toBeUndefined()
      })
    )
  })
})

describe("a typed amount", () => {
  it("has group separators between groups of three digits", () => {
    expect(readAll(countOf, "id", "1000 1.000 1.000.000 007")).toEqual([1_000, 1_000, 1_000_000, 7])
    expect(readAll(countOf, "en", "1000 1,000 1,000,000")).toEqual([1_000, 1_000, 1_000_000])
    const malformed = "1.5 1.0000 1000.000 .000 1. 0.001 1..000 1.000,000 1,5 1e3 -1 ten"
    expect(readAll(countOf, "id", malformed)).toEqual(none(12))
    expect(readAll(countOf, "en", "1.5 1,5 1,0000 1000,000 ,000 1, 0,001 1.000")).toEqual(none(8))
    expect(countOf("1 000", "id")).toBeUndefined()
    expect(countOf("", "en")).toBeUndefined()
  })

  it("in rupiah has no fraction", () => {
    expect(["50000", " Rp50.000 ", "Rp 50.000", "rp. 50.000"].map((typed) => rupiahOf(typed, "id"))).toEqual(
      Array.from({ length: 4 }, () => 50_000)
    )
    expect(readAll(rupiahOf, "id", "50000,50 50.000,00 50.000,- 50,000")).toEqual(none(4))
    expect(readAll(rupiahOf, "en", "50000.50 50,000.00 50.000")).toEqual(none(3))
  })

  it("in dollars has at most six decimals", () => {
    expect(usdMicroOf(" $2,5 ", "id")).toBe(2_500_000)
    expect(readAll(usdMicroOf, "id", "1.000 1.250,50")).toEqual([1_000_000_000, 1_250_500_000])
    expect(readAll(usdMicroOf, "en", "1,000 1,250.50 1.000")).toEqual([1_000_000_000, 1_250_500_000, 1_000_000])
    expect(usdMicroOf("999999999.000001", "en")).toBe(999_999_999_000_001)
    expect(readAll(usdMicroOf, "en", "1e3 -1 1.0000001 12,5 1. .5 1.000.000 1234567890")).toEqual(none(8))
    expect(readAll(usdMicroOf, "id", "2.5 1,000.00 1, ,5 1,000,000 0.001")).toEqual(none(6))
    expect(usdMicroOf("", "id")).toBeUndefined()
  })

  it("is written in dollars without trailing zeros", () => {
    expect(typedDollars(2_500_000, "id")).toBe("2,5")
    expect(typedDollars(2_500_000, "en")).toBe("2.5")
    expect(typedDollars(1, "en")).toBe("0.000001")
    expect(typedDollars(1_000_000_000_000, "id")).toBe("1000000")
  })
})

describe.each(languages)("the message for a malformed amount in the language %s", (language) => {
  const texts = language === "id" ? indonesian : english
  const examples = (message: string) => message.match(/\d[\d.,]*(?<=\d)/g) ?? []

  it("shows amounts that are accepted", () => {
    const { rupiah, dollars } = texts.topUps.amountIssues
    const { spend_usd_micro_total, tokens_per_minute } = texts.limits.issues
    const inDollars = [dollars, spend_usd_micro_total, operatorTables[language].booking.amountIssue]
    for (const message of inDollars) {
      const read = examples(message).map((each) => usdMicroOf(each, language))
      expect(read).toContain(1_250_500_000)
      expect(read).not.toContain(undefined)
    }
    expect(examples(rupiah).map((each) => rupiahOf(each, language))).toEqual([50_000, 50_000])
    expect(examples(tokens_per_minute).map((each) => countOf(each, language))).toEqual([1, 1_000_000_000])
  })
})
