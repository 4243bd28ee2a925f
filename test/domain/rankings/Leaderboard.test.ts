import { describe, expect, it } from "vitest"
import { aModel, aSettlement, ranksOf } from "../../support/rankings.ts"

const NOW = new Date("2026-06-10T05:30:15.250Z")
const name = (i: number) => `m${String(i).padStart(2, "0")}`
const sixty = Array.from({ length: 60 }, (_, i) => aModel(name(i)))

describe("the leaderboard", () => {
  it("contains at most 50 models", () => {
    const settlements = sixty.map(({ publicName }, i) => aSettlement(publicName, "2026-06-10T04:00:00Z", 100 - i))
    const { leaderboard, other, authors, totals } = ranksOf({ models: sixty, settlements }, "day", NOW)
    expect(leaderboard.map(({ publicName }) => publicName)).toEqual(sixty.slice(0, 50).map((model) => model.publicName))
    expect(leaderboard.map(({ rank }) => rank)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
    expect(other.tokens).toBe(50n + 49n + 48n + 47n + 46n + 45n + 44n + 43n + 42n + 41n)
    // The shares of authors include the models in `other`.
    expect(authors[0]?.tokens).toBe(totals.tokens)
  })

  it("sorts models with equal tokens by name", () => {
    const models = ["b", "B", "a", "é"].map((publicName) => aModel(publicName))
    const settlements = models.map(({ publicName }) => aSettlement(publicName, "2026-06-10T04:00:00Z", 1))
    const { leaderboard } = ranksOf({ models, settlements }, "day", NOW)
    expect(leaderboard.map(({ publicName }) => publicName)).toEqual(["B", "a", "b", "é"])
  })

  it("omits a model without usage in the window", () => {
    const usage = { models: [aModel("m")], settlements: [aSettlement("m", "2026-06-09T04:00:00Z", 7)] }
    const { leaderboard, totals } = ranksOf(usage, "day", NOW)
    expect(leaderboard).toEqual([])
    expect(totals).toEqual({ tokens: 0n, previousTokens: 7n })
  })
})

describe("the series", () => {
  it("contains at most eight models", () => {
    const settlements = sixty.map(({ publicName }, i) => aSettlement(publicName, "2026-06-10T04:00:00Z", 100 - i))
    const { series } = ranksOf({ models: sixty, settlements }, "day", NOW)
    expect(series.keys).toEqual(sixty.slice(0, 8).map((model) => model.publicName))
    expect(series.points).toHaveLength(25)
    const used = series.points.filter(({ other }) => other > 0n)
    expect(used.map(({ start, values, other }) => [start.toISOString(), values, other])).toEqual([
      ["2026-06-10T04:00:00.000Z", [100n, 99n, 98n, 97n, 96n, 95n, 94n, 93n], 3_458n]
    ])
  })
})
