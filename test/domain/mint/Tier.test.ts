import { isAvailable, priceList, priceUsdMicroOf, topupIdrRequiredOf } from "@tollgate/domain/mint/Tier"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { aTier } from "../../support/resellers.ts"

const tier = FastCheck.record({
  tierUsdCents: FastCheck.bigInt({ min: 1n, max: 5n }).map((n) => UsdCents(n)),
  modelName: FastCheck.constantFrom("a", "B", "b", "a-1", "é"),
  forSale: FastCheck.boolean(),
  modelCallable: FastCheck.boolean()
}).map(aTier)

describe("a tier", () => {
  it("costs 10,000 micro-USD for each US cent of its price", () => {
    expect(priceUsdMicroOf(aTier())).toBe(5_000_000n)
  })

  it("requires a top-up of 100 IDR for each US cent of its price", () => {
    expect(topupIdrRequiredOf(aTier())).toBe(50_000n)
  })

  it("is available while it is for sale and its model is callable", () => {
    expect(isAvailable(aTier())).toBe(true)
    expect(isAvailable(aTier({ forSale: false }))).toBe(false)
    expect(isAvailable(aTier({ modelCallable: false }))).toBe(false)
  })
})

describe("the price list", () => {
  property("has the available tiers, sorted by price, then by model name", [FastCheck.array(tier)], (tiers) => {
    const list = priceList(tiers)
    return (
      list.length === tiers.filter(isAvailable).length &&
      list.every((tier, i) => {
        const before = list[i - 1]
        if (!isAvailable(tier)) return false
        if (before === undefined || before.tierUsdCents < tier.tierUsdCents) return true
        return before.tierUsdCents === tier.tierUsdCents && before.modelName <= tier.modelName
      })
    )
  })
})
