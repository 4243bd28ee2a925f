import { Rankings } from "@tollgate/domain/rankings/Rankings"
import { fitsJson, rankUsage } from "@tollgate/domain/rankings/RankUsage"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import { FastCheck, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Property from "../../support/property.ts"
import { referenceRankings } from "../../support/RankingsReference.ts"
import {
  aModel,
  aSettlement,
  DAY,
  documentOf,
  historyOf,
  ranksOf,
  type Usage,
  usageBefore,
  window
} from "../../support/rankings.ts"

const sum = (tokens: ReadonlyArray<bigint>) => tokens.reduce((a, b) => a + b, 0n)
const earlier = (at: Date, days: number) => new Date(at.getTime() - days * DAY)
const tokensIn = (usage: Usage, window: Window, now: Date) => ranksOf(usage, window, now).totals.tokens

const NOW = new Date("2026-06-10T05:30:15.250Z")

/** Fewer runs than in other files, because each run ranks a whole history. */
const RUNS = 150

const property: typeof Property.property = (sentence, inputs, holds) => Property.property(sentence, inputs, holds, RUNS)

describe("rankings", () => {
  it("are equal to a direct computation from the settlements", () => {
    FastCheck.assert(
      FastCheck.property(usageBefore, window, ({ usage, now }, window) => {
        const expected = referenceRankings(usage.models, usage.settlements, window, now)
        expect(documentOf(ranksOf(usage, window, now))).toEqual(expected)
      }),
      { numRuns: 600 }
    )
  })

  property(
    "have a leaderboard that adds up with `other` to the total",
    [usageBefore, window],
    ({ usage, now }, window) => {
      const { totals, leaderboard, other } = ranksOf(usage, window, now)
      return sum(leaderboard.map(({ tokens }) => tokens)) + other.tokens === totals.tokens
    }
  )

  property("have a series whose points add up to the total", [usageBefore, window], ({ usage, now }, window) => {
    const { totals, series } = ranksOf(usage, window, now)
    return sum(series.points.map(({ values, other }) => sum(values) + other)) === totals.tokens
  })

  property(
    "have points of a model that add up to its leaderboard tokens",
    [usageBefore, window],
    ({ usage, now }, window) => {
      const { leaderboard, series } = ranksOf(usage, window, now)
      return series.keys.every(
        (key, i) =>
          leaderboard[i]?.publicName === key &&
          sum(series.points.map(({ values }) => values[i] ?? 0n)) === leaderboard[i].tokens
      )
    }
  )

  property("have authors' shares of 10,000 basis points in total", [usageBefore, window], ({ usage, now }, window) => {
    const { authors } = ranksOf(usage, window, now)
    return sum(authors.map(({ shareBp }) => shareBp)) === (authors.length === 0 ? 0n : 10_000n)
  })

  property("have the sum of seven days as the tokens of a week", [usageBefore], ({ usage, now }) => {
    const days = [0, 1, 2, 3, 4, 5, 6].map((days) => tokensIn(usage, "day", earlier(now, days)))
    return sum(days) === tokensIn(usage, "week", now)
  })

  property(
    "have the tokens of the preceding window as comparison tokens",
    [usageBefore, window],
    ({ usage, now }, window) => {
      const { totals } = ranksOf(usage, window, now)
      const length = { day: 1, week: 7, month: 30, all: 0 }[window]
      return totals.previousTokens === (length === 0 ? null : tokensIn(usage, window, earlier(now, length)))
    }
  )

  property("count all ranked tokens before the current minute in the window all", [usageBefore], ({ usage, now }) => {
    const minute = minuteOf(now)
    const ranked = new Set(usage.models.filter(({ kind }) => kind !== "image").map(({ publicName }) => publicName))
    const before = usage.settlements.filter(({ model, settledAt }) => ranked.has(model) && settledAt < minute)
    const tokens = before.map(({ consumed }) => consumed.input + consumed.cacheWrite + consumed.output)
    return tokensIn(usage, "all", now) === sum(tokens)
  })

  property("never name a hidden model", [usageBefore, window], ({ usage, now }, window) => {
    const text = JSON.stringify(documentOf(ranksOf(usage, window, now)))
    return usage.models.every(({ publicName, hidden }) => !hidden || !text.includes(`"${publicName}"`))
  })

  property("do not depend on the order of the input", [usageBefore, window], ({ usage, now }, window) => {
    const reversed = { models: [...usage.models].reverse(), settlements: [...usage.settlements].reverse() }
    return (
      JSON.stringify(documentOf(ranksOf(reversed, window, now))) ===
      JSON.stringify(documentOf(ranksOf(usage, window, now)))
    )
  })

  property("are unchanged after encoding and decoding for storage", [usageBefore, window], ({ usage, now }, window) => {
    const codec = Schema.parseJson(Rankings)
    const made = ranksOf(usage, window, now)
    expect(Schema.decodeSync(codec)(Schema.encodeSync(codec)(made))).toEqual(made)
    return true
  })

  it.each(["day", "week", "month", "all"] as const)("are empty in the window %s without earlier usage", (window) => {
    const made = ranksOf({ models: [aModel("idle")], settlements: [aSettlement("idle", NOW, 7)] }, window, NOW)
    expect(made.range.dataSince).toBeNull()
    expect(made.totals.tokens).toBe(0n)
    expect([made.leaderboard, made.series.keys, made.series.points, made.authors, made.trending, made.fastest]).toEqual(
      [[], [], [], [], [], []]
    )
  })

  it("name a retired model, but no hidden model and no image model", () => {
    const models = [
      aModel("here"),
      aModel("gone", { retired: true }),
      aModel("secret", { hidden: true, author: "Hidden Author" }),
      aModel("painter", { kind: "image" })
    ]
    const settlements = models.map(({ publicName }, i) => aSettlement(publicName, "2026-06-10T05:00:00Z", 10 ** i))
    const { leaderboard, other, authors } = ranksOf({ models, settlements }, "day", NOW)
    expect(leaderboard.map(({ publicName, listed }) => [publicName, listed])).toEqual([
      ["gone", false],
      ["here", true]
    ])
    expect(other.tokens).toBe(100n)
    expect(authors).toEqual([{ author: "Author", tokens: 11n, shareBp: 10_000n }])
  })

  it("have no comparison period for the window all", () => {
    const usage = { models: [aModel("m")], settlements: [aSettlement("m", "2026-06-09T05:00:00Z", 5)] }
    const { range, totals, leaderboard } = ranksOf(usage, "all", NOW)
    expect([range.previousFrom, totals.previousTokens]).toEqual([null, null])
    expect(leaderboard[0]).toMatchObject({ previousTokens: null, changePct: null, isNew: false })
  })

  it("begin the window all at midnight in Jakarta before the first usage", () => {
    // Tuesday 23:59 UTC is Wednesday morning in Jakarta.
    const usage = { models: [aModel("m")], settlements: [aSettlement("m", "2026-06-02T23:59:00Z", 5)] }
    const { range, series } = ranksOf(usage, "all", NOW)
    expect(range).toEqual({
      from: new Date("2026-06-02T17:00:00Z"),
      to: new Date("2026-06-10T05:30:00Z"),
      previousFrom: null,
      dataSince: "2026-06-03"
    })
    expect(series.points.map(({ start, partial, values }) => [start.toISOString(), partial, values])).toEqual([
      ["2026-05-31T17:00:00.000Z", true, [5n]],
      ["2026-06-07T17:00:00.000Z", true, [0n]]
    ])
  })

  it("do not fit into JSON with a count above the largest safe integer", () => {
    const most = 9_007_199_254_740_991n
    const usage = (tokens: bigint) => ({
      models: [aModel("m")],
      settlements: [
        aSettlement("m", "2026-06-10T05:00:00Z", 0, {
          consumed: { input: tokens, cacheWrite: 0n, cacheRead: 0n, output: 0n }
        })
      ]
    })
    expect(fitsJson(ranksOf(usage(most), "day", NOW))).toBe(true)
    expect(fitsJson(ranksOf(usage(most + 1n), "day", NOW))).toBe(false)
    // The usage of yesterday is in the comparison period of the day. The usage of five days ago counts for `trending`.
    expect(fitsJson(ranksOf(usage(most + 1n), "day", new Date(NOW.getTime() + DAY)))).toBe(false)
    expect(fitsJson(ranksOf(usage(most + 1n), "day", new Date(NOW.getTime() + 5 * DAY)))).toBe(false)
  })

  it("count usage at the boundary between two intervals once", () => {
    const cut = new Date("2026-06-09T05:30:00Z")
    const settlements = [aSettlement("m", new Date(cut.getTime() - 1), 1), aSettlement("m", cut, 10)]
    const made = ranksOf({ models: [aModel("m")], settlements }, "day", NOW)
    expect([made.totals.tokens, made.totals.previousTokens]).toEqual([10n, 1n])
  })

  it("accept a history with more cuts than requested", () => {
    const usage = { models: [aModel("m")], settlements: [aSettlement("m", "2026-06-10T05:00:00Z", 5)] }
    const history = historyOf(usage, minuteOf(NOW), () => ({
      cuts: Array.from(
        { length: 14 * 48 + 1 },
        (_, i) => new Date(minuteOf(earlier(NOW, 14)).getTime() + i * 1_800_000)
      ),
      speeds: { from: earlier(NOW, 7), to: NOW }
    }))
    expect(rankUsage(history, "day", NOW)).toEqual(ranksOf(usage, "day", NOW))
  })
})
