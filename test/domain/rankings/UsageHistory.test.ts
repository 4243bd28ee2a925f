import { bucketsSplitBy, decitokensPerSecond, historyQueryFor } from "@tollgate/domain/rankings/UsageHistory"
import { bucketsOf, minuteOf, rangeOf, unitOf } from "@tollgate/domain/rankings/Window"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { DAY, now, window } from "../../support/rankings.ts"

const HOUR = DAY / 24

const firstUse = FastCheck.option(FastCheck.integer({ min: 0, max: 400 * DAY }), { nil: undefined })
const since = (at: Date, ago: number | undefined) =>
  ago === undefined ? undefined : minuteOf(new Date(at.getTime() - ago))

describe("a history query", () => {
  property("has ascending cuts up to the current minute", [now, firstUse], (at, ago) => {
    const { cuts } = historyQueryFor(at, since(at, ago))
    return (
      cuts.length >= 2 &&
      cuts.every((cut, i) => cut.getTime() % 60_000 === 0 && cut > (cuts[i - 1] ?? new Date(0))) &&
      cuts.at(-1)?.getTime() === minuteOf(at).getTime()
    )
  })

  property("has a cut at the start and end of every window and bucket", [now, window, firstUse], (at, window, ago) => {
    const cuts = new Set(historyQueryFor(at, since(at, ago)).cuts.map((cut) => cut.getTime()))
    const range = rangeOf(window, at, since(at, ago))
    const to = range.to.getTime()
    return [
      to - 7 * DAY,
      to - 14 * DAY,
      range.previousFrom?.getTime() ?? to,
      ...bucketsOf(unitOf(window), range).flatMap(({ from, to }) => [from.getTime(), to.getTime()])
    ].every((edge) => cuts.has(edge))
  })

  for (const [unit, length] of [
    ["hour", HOUR],
    ["day", DAY]
  ] as const) {
    property(`has cuts inside at most seven ${unit} buckets`, [now, firstUse], (at, ago) => {
      const { cuts } = historyQueryFor(at, since(at, ago))
      const divided = bucketsSplitBy(cuts, unit)
      const begins = (cut: Date) => (cut.getTime() + 7 * HOUR) % length === 0
      return (
        divided.length <= 7 &&
        divided.every(({ from, to }) => to.getTime() - from.getTime() === length && begins(from)) &&
        divided.every(({ from, to }) => cuts.some((cut) => from < cut && cut < to)) &&
        cuts.every((cut) => begins(cut) || divided.filter(({ from, to }) => from < cut && cut < to).length === 1)
      )
    })
  }

  it("requests speeds of the seven days before the current minute", () => {
    const { speeds } = historyQueryFor(new Date("2026-06-10T05:30:15Z"), undefined)
    expect([speeds.from.toISOString(), speeds.to.toISOString()]).toEqual([
      "2026-06-03T05:30:00.000Z",
      "2026-06-10T05:30:00.000Z"
    ])
  })
})

describe("the speed of a stream", () => {
  it.each([
    [100n, 1_000, 1_000n],
    [1n, 3_000, 3n],
    [1n, 20_000, 1n],
    [1n, 20_001, 0n],
    [0n, 5_000, 0n],
    [3n, 0, 30_000n]
  ])("with %s tokens in %s ms is %s tenths of a token per second", (tokens, millis, tenths) => {
    expect(decitokensPerSecond(tokens, millis)).toBe(tenths)
  })
})
