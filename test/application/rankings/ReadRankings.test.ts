import { describe, expect, it } from "@effect/vitest"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import {
  RankingsCache,
  RankingsHistory,
  RankingsPolicy,
  readRankings
} from "@tollgate/application/rankings/ReadRankings"
import { Effect, Fiber, Layer, Logger, Option, TestClock } from "effect"
import { aModel, aSettlement, historyOf, ranksOf, type Usage } from "../../support/rankings.ts"

const NOW = new Date("2026-06-10T05:30:15.250Z")
const usage: Usage = { models: [aModel("m")], settlements: [aSettlement("m", "2026-06-10T04:00:00Z", 5)] }

const policy = (enabled: boolean) => Layer.succeed(RankingsPolicy, { enabled })

const emptyMemory = { inMemory: () => Effect.succeed(undefined) }
/** An empty cache, so that each caller computes the rankings. */
const noCache = Layer.succeed(RankingsCache, { ...emptyMemory, take: (compute) => compute(NOW) })

const history = (usage: Usage) =>
  Layer.succeed(RankingsHistory, { read: (minute, queryFor) => Effect.sync(() => historyOf(usage, minute, queryFor)) })

/** Ports that fail the test if they are used. */
const untouched = Layer.merge(Layer.mock(RankingsHistory, {}), Layer.mock(RankingsCache, {}))

const quietly = Logger.remove(Logger.defaultLogger)

describe("rankings", () => {
  it.effect("are computed for the requested window", () =>
    Effect.gen(function* () {
      for (const window of ["day", "week", "month", "all"] as const) {
        expect(yield* readRankings({ window })).toEqual(ranksOf(usage, window, NOW))
      }
      expect(yield* readRankings({})).toEqual(ranksOf(usage, "week", NOW))
    }).pipe(Effect.provide([policy(true), noCache, history(usage)]))
  )

  const cached = ranksOf(usage, "day", NOW)
  it.effect.each([
    [
      "this node's memory",
      { inMemory: () => Effect.succeed(cached), take: () => Effect.dieMessage("the shared cache was read") }
    ],
    [
      "the cache that all nodes share",
      { ...emptyMemory, take: () => Effect.succeed(new Map([["day", cached] as const])) }
    ]
  ] as const)("are returned from %s", ([, cache]) =>
    Effect.gen(function* () {
      expect(yield* readRankings({ window: "day" })).toBe(cached)
    }).pipe(Effect.provide([policy(true), Layer.succeed(RankingsCache, cache), Layer.mock(RankingsHistory, {})]))
  )

  it.effect("are refused as disabled before the window is checked", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(readRankings({ window: "year" }))).toMatchObject({ _tag: "RankingsDisabled" })
    }).pipe(Effect.provide([policy(false), untouched]))
  )

  it.effect("are refused for an unknown window or modality", () =>
    Effect.gen(function* () {
      const year = yield* Effect.flip(readRankings({ window: "year" }))
      expect(year).toMatchObject({ _tag: "InvalidWindow", param: "window" })
      const images = yield* Effect.flip(readRankings({ modality: "image" }))
      expect(images).toMatchObject({ _tag: "InvalidWindow", param: "modality", allowed: ["text"] })
    }).pipe(Effect.provide([policy(true), untouched]))
  )

  it.effect("are unavailable if the history or the cache cannot be read", () => {
    const broken = Effect.die(new Error("the stored rows cannot be read"))
    const brokenHistory = Layer.succeed(RankingsHistory, { read: () => broken })
    const brokenCache = Layer.succeed(RankingsCache, { ...emptyMemory, take: () => broken })
    const failure = Effect.flip(readRankings({}))
    return Effect.gen(function* () {
      const noHistory = yield* Effect.provide(failure, [noCache, brokenHistory])
      expect(noHistory).toMatchObject({ _tag: "RankingsUnavailable", reason: "unreadable" })
      const noRankingsCache = yield* Effect.provide(failure, [brokenCache, history(usage)])
      expect(noRankingsCache).toMatchObject({ _tag: "RankingsUnavailable", reason: "unreadable" })
    }).pipe(Effect.provide([policy(true), quietly]))
  })

  it.effect("are refused as overloaded while the database is unavailable", () => {
    const away = Effect.die(new DatabaseUnavailable({ cause: "gone" }))
    return Effect.gen(function* () {
      expect(yield* Effect.flip(readRankings({}))).toMatchObject({ _tag: "Overloaded", retryAfterSeconds: 1 })
    }).pipe(Effect.provide([policy(true), quietly, noCache, Layer.succeed(RankingsHistory, { read: () => away })]))
  })

  it.effect("are refused as overloaded if they are not computed within 10 seconds", () =>
    Effect.gen(function* () {
      const reading = yield* Effect.fork(Effect.flip(readRankings({})))
      yield* TestClock.adjust("9999 millis")
      expect(yield* Fiber.poll(reading)).toEqual(Option.none())
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(reading)).toMatchObject({ _tag: "Overloaded", retryAfterSeconds: 1 })
    }).pipe(Effect.provide([policy(true), noCache, Layer.succeed(RankingsHistory, { read: () => Effect.never })]))
  )

  it.effect("are unavailable if a token count is above the largest safe integer of JavaScript", () => {
    const most = { input: 2n ** 53n, cacheWrite: 0n, cacheRead: 0n, output: 0n }
    const vast = { ...usage, settlements: [aSettlement("m", "2026-06-10T04:00:00Z", 0, { consumed: most })] }
    return Effect.gen(function* () {
      expect(yield* Effect.flip(readRankings({}))).toMatchObject({
        _tag: "RankingsUnavailable",
        reason: "too many tokens"
      })
    }).pipe(Effect.provide([policy(true), noCache, history(vast)]))
  })
})
