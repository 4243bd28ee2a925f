import type { Window } from "@tollgate/domain/rankings/Window"
import { describe, expect, it } from "vitest"
import type { RankedModel } from "../../support/RankingsReference.ts"
import { aModel, aSettlement, ranksOf } from "../../support/rankings.ts"

const NOW = new Date("2026-06-10T05:30:15.250Z")
const LAST_WEEK = "2026-06-09T00:00:00Z"
const WEEK_BEFORE = "2026-06-01T00:00:00Z"
const MILLION = 1_000_000

/** Takes the tokens of each model in the last seven days and in the seven days before. */
const trending = (usage: ReadonlyArray<readonly [RankedModel, last: number, before: number]>, window: Window = "day") =>
  ranksOf(
    {
      models: usage.map(([model]) => model),
      settlements: usage.flatMap(([{ publicName }, last, before]) => [
        aSettlement(publicName, LAST_WEEK, last),
        aSettlement(publicName, WEEK_BEFORE, before)
      ])
    },
    window,
    NOW
  ).trending.map(({ publicName, tokens, changePct, isNew }) => [publicName, tokens, changePct, isNew])

describe("trending models", () => {
  it("have at least a million tokens in the last seven days", () => {
    for (const window of ["day", "week", "month", "all"] as const) {
      expect(trending([[aModel("enough"), MILLION, 0]], window)).toEqual([["enough", 1_000_000n, null, true]])
      expect(trending([[aModel("almost"), MILLION - 1, 0]], window)).toEqual([])
    }
  })

  it("are new or have more tokens than in the seven days before", () => {
    expect(
      trending([
        [aModel("same"), 2 * MILLION, 2 * MILLION],
        [aModel("shrinking"), 2 * MILLION, 2 * MILLION + 1],
        [aModel("growing"), 2 * MILLION + 1, 2 * MILLION]
      ])
    ).toEqual([["growing", 2_000_001n, 0n, false]])
  })

  it("are neither hidden nor retired", () => {
    expect(
      trending([
        [aModel("hidden", { hidden: true }), MILLION, 0],
        [aModel("retired", { retired: true }), MILLION, 0]
      ])
    ).toEqual([])
  })

  it("are sorted by growth, with new models first", () => {
    expect(
      trending([
        [aModel("half more"), 6 * MILLION, 4 * MILLION],
        [aModel("new"), MILLION, 0],
        [aModel("tenfold"), 2 * MILLION, MILLION / 5],
        [aModel("new and larger"), 2 * MILLION, 0]
      ]).map(([name]) => name)
    ).toEqual(["new and larger", "new", "tenfold", "half more"])
  })

  it("are at most ten", () => {
    const twelve = Array.from({ length: 12 }, (_, i) => [aModel(`m${i}`), MILLION + i, 0] as const)
    expect(trending(twelve).map(([, tokens]) => tokens)).toEqual(
      [11n, 10n, 9n, 8n, 7n, 6n, 5n, 4n, 3n, 2n].map((more) => 1_000_000n + more)
    )
  })
})
