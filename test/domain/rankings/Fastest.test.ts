import { describe, expect, it } from "vitest"
import { type RankedModel, type RankedSettlement, referenceRankings } from "../../support/RankingsReference.ts"
import { aModel, aSettlement, DAY, documentOf, ranksOf } from "../../support/rankings.ts"

const NOW = new Date("2026-06-10T05:30:15.250Z")
const TO = Date.parse("2026-06-10T05:30:00Z")

/** Returns streams of the last seven days with 100 output tokens, unless `facts` differ. */
const streams = (model: string, samples: number, facts: Partial<RankedSettlement> = {}) =>
  Array.from({ length: samples }, (_, i) =>
    aSettlement(model, new Date(TO - 1 - ((i * 7_919_777) % (7 * DAY))), 0, {
      consumed: { input: 5n, cacheWrite: 0n, cacheRead: 0n, output: 100n },
      streamed: true,
      ttftMillis: 200 + (i % 50),
      durationMillis: 1_000 + (i % 100),
      ...facts
    })
  )

const fastest = (models: ReadonlyArray<RankedModel>, settlements: ReadonlyArray<RankedSettlement>) =>
  documentOf(ranksOf({ models, settlements }, "day", NOW)).fastest

describe("fastest models", () => {
  it("are only models with at least 200 speed samples", () => {
    expect(fastest([aModel("m")], streams("m", 200))).toHaveLength(1)
    expect(fastest([aModel("m")], streams("m", 199))).toEqual([])
  })

  it("are measured from complete streams of the last seven days", () => {
    const others = [
      ...streams("m", 300, { streamed: false }),
      ...streams("m", 300, { ending: "client_gone" }),
      ...streams("m", 300, { ttftMillis: null }),
      ...streams("m", 300, { settledAt: new Date(TO - 7 * DAY - 1) }),
      ...streams("m", 300, { settledAt: new Date(TO) })
    ]
    expect(fastest([aModel("m")], [...streams("m", 199), ...others])).toEqual([])
    const first = streams("m", 1, { settledAt: new Date(TO - 7 * DAY) })
    expect(fastest([aModel("m")], [...streams("m", 199), ...first, ...others])).toHaveLength(1)
  })

  it("have median speeds with one decimal", () => {
    const model = aModel("m")
    expect(fastest([model], streams("m", 400))).toEqual([
      {
        public_name: "m",
        display_name: "The m",
        author: "Author",
        tps_p50: 95.2,
        ttft_p50_ms: 224,
        samples_bucket: "200+"
      }
    ])
  })

  it.each([
    [200, "200+"],
    [999, "200+"],
    [1_000, "1k+"],
    [9_999, "1k+"],
    [10_000, "10k+"]
  ])("with %s samples have the sample bucket %s", (samples, bucket) => {
    expect(fastest([aModel("m")], streams("m", samples))[0]?.samples_bucket).toBe(bucket)
  })

  it("are listed models, sorted by speed, then by name", () => {
    const models = [
      aModel("slow"),
      aModel("b"),
      aModel("a"),
      aModel("gone", { retired: true }),
      aModel("secret", { hidden: true })
    ]
    const settlements = models.flatMap(({ publicName }) =>
      streams(publicName, 250, publicName === "slow" ? { durationMillis: 5_000 } : {})
    )
    const listed = fastest(models, settlements)
    expect(listed.map(({ public_name }) => public_name)).toEqual(["a", "b", "slow"])
    expect(listed).toEqual(referenceRankings(models, settlements, "day", NOW).fastest)
  })
})
