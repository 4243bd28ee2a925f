/**
 * Compares the rankings feed with a slow reference computation over 40 days of settlements.
 */
import { describe, expect, layer } from "@effect/vitest"
import { toBody } from "@tollgate/adapters-http/rankings/RankingsBody"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/rankings/PgRankingsHistory"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import {
  RankingsCache,
  RankingsHistory,
  RankingsPolicy,
  readRankings
} from "@tollgate/application/rankings/ReadRankings"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import type { RankingsByWindow } from "@tollgate/domain/rankings/RankUsage"
import { historyQueryFor } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import { Effect, Layer } from "effect"
import { type RankedSettlement, type RankingsDocument, referenceRankings } from "../support/RankingsReference.ts"
import { storeModels, storeSettlements } from "../support/rankings/StoredUsage.ts"
import { aModel, aSettlement, DAY } from "../support/rankings.ts"
import * as Stores from "../support/Stores.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAYS = 40
const INSTANTS = 100
/**
 * Only younger settlements are folded before the first comparison, because a fold deletes the speeds of older days. One
 * hour is a safety margin.
 */
const FOLDED_MILLIS = 8 * DAY - HOUR

const END = Date.now()
const BEGIN = END - DAYS * DAY
const WINDOWS: ReadonlyArray<Window> = ["day", "week", "month", "all"]

const models = [
  aModel("busy", { author: "One" }),
  aModel("steady", { author: "Two" }),
  aModel("twin", { author: "Two" }),
  aModel("rare", { author: "Three" }),
  aModel("young", { author: "Three" }),
  aModel("gone", { author: "One", retired: true }),
  aModel("forgotten", { author: "Four", retired: true }),
  aModel("secret", { author: "Five", hidden: true }),
  aModel("vault", { author: "Two", hidden: true, retired: true }),
  aModel("painter", { author: "One", kind: "image" })
]

const randomNumbers = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
const draw = randomNumbers(20_261_120)
const below = (most: number) => Math.floor(draw() * most)
const oneOf = <A>(choices: ReadonlyArray<A>): A => choices[below(choices.length)] as A

/** Returns a random instant, often at or next to a whole minute, a whole hour or a midnight in Jakarta. */
const anInstant = (): number => {
  const anywhere = BEGIN + below(DAYS * DAY)
  const midnight = anywhere - ((anywhere + 7 * HOUR) % DAY)
  return oneOf([
    anywhere,
    anywhere,
    midnight + oneOf([0, -1, 1]),
    anywhere - (anywhere % HOUR) + oneOf([0, -1, 1]),
    anywhere - (anywhere % MINUTE) + oneOf([0, -1])
  ])
}

const OFTEN = [...Array(5).fill("busy"), ...Array(5).fill("steady"), "twin", "gone", "secret", "painter"]
const SELDOM = ["rare", "forgotten", "vault", "twin"]

const aUse = (): RankedSettlement => {
  const at = anInstant()
  const young = END - at < 5 * DAY && draw() < 0.2
  return aSettlement(young ? "young" : oneOf(draw() < 0.9 ? OFTEN : SELDOM), new Date(at), 0, {
    consumed: oneOf([
      {
        input: BigInt(below(30_000)),
        cacheWrite: BigInt(below(500)),
        cacheRead: BigInt(below(9_000)),
        output: BigInt(below(9_000))
      },
      { input: 1n, cacheWrite: 0n, cacheRead: 0n, output: 0n },
      { input: 0n, cacheWrite: 0n, cacheRead: 12n, output: 0n }
    ]),
    streamed: draw() < 0.95,
    ending: draw() < 0.85 ? "complete" : oneOf(["failed", "client_gone", "upstream_cut", "balance_exhausted"]),
    ttftMillis: draw() < 0.05 ? null : oneOf([below(90), 90 + below(3_000)]),
    durationMillis: oneOf([0, 1 + below(30_000)])
  })
}

const settlements = Array.from({ length: 6_000 }, aUse)
const isFolded = ({ settledAt }: RankedSettlement) => settledAt.getTime() >= END - FOLDED_MILLIS
const instants = Array.from({ length: INSTANTS }, () => new Date(anInstant()))
const lastDay = Array.from({ length: 20 }, () => new Date(END - below(DAY - HOUR)))

const feedAt = (window: Window) =>
  Effect.map(readRankings({ window }), (rankings) => JSON.parse(JSON.stringify(toBody(rankings))) as RankingsDocument)

/** Returns an empty cache that computes the rankings for this instant. */
const cacheAt = (now: Date): RankingsCache["Type"] => {
  let kept: RankingsByWindow | undefined
  const keep = (made: RankingsByWindow) => {
    kept = made
  }
  return {
    inMemory: (window) => Effect.sync(() => kept?.get(window)),
    take: (compute) => Effect.tap(compute(now), (made) => Effect.sync(() => keep(made)))
  }
}

const isNear = (actual: number, expected: number) =>
  expected < 10 ? actual === expected : Math.abs(actual - expected) <= expected / 100

/** Checks that all members are equal. Medians can differ by at most 1 %. */
const expectSame = (actual: RankingsDocument, expected: RankingsDocument) => {
  const where = `${expected.window} at ${expected.generated_at}`
  expect({ ...actual, fastest: [] }, where).toEqual({ ...expected, fastest: [] })
  const expectedFastest = new Map(expected.fastest.map((entry) => [entry.public_name, entry]))
  expect(new Set(actual.fastest.map(({ public_name }) => public_name)), where).toEqual(new Set(expectedFastest.keys()))
  for (const { tps_p50, ttft_p50_ms, ...entry } of actual.fastest) {
    expect(expectedFastest.get(entry.public_name), where).toMatchObject(entry)
    const { tps_p50: tps, ttft_p50_ms: ttft } = expectedFastest.get(entry.public_name) ?? {
      tps_p50: -1,
      ttft_p50_ms: -1
    }
    expect(isNear(tps_p50, tps) && (isNear(ttft_p50_ms, ttft) || (ttft < 100 && ttft_p50_ms === ttft)), where).toBe(
      true
    )
  }
  const speeds = actual.fastest.map(({ tps_p50 }) => tps_p50)
  expect(speeds, where).toEqual([...speeds].sort((a, b) => b - a))
}

const compareAt = (now: Date) =>
  Effect.forEach(WINDOWS, (window) =>
    Effect.map(feedAt(window), (actual) => {
      const expected = referenceRankings(models, settlements, window, now)
      expectSame(actual, expected)
      return expected
    })
  ).pipe(Effect.provideService(RankingsCache, cacheAt(now)))

const compare = (at: ReadonlyArray<Date>) =>
  Effect.map(Effect.forEach(at, compareAt, { concurrency: 4 }), (documents) => documents.flat())

describe("the rankings feed", () => {
  const stores = Layer.mergeAll(
    PgRankingsHistory.layer,
    PgUsageRollUps.layer,
    Layer.succeed(RankingsPolicy, { enabled: true })
  ).pipe(Layer.provideMerge(Stores.layer))

  layer(stores, { excludeTestServices: true })((it) => {
    it.effect(`equals the reference computation in every window at ${INSTANTS} instants`, () =>
      Effect.gen(function* () {
        yield* storeModels(models)
        yield* storeSettlements(settlements.filter(isFolded))
        yield* (yield* UsageRollUps).fold
        yield* storeSettlements(settlements.filter((settlement) => !isFolded(settlement)))
        const documents = yield* compare(instants)
        // The test is meaningful only if these cases occurred.
        expect(documents.some(({ fastest }) => fastest.length >= 2)).toBe(true)
        expect(documents.some(({ trending }) => trending.some(({ is_new }) => is_new))).toBe(true)
        expect(documents.some(({ leaderboard }) => leaderboard.some(({ listed }) => !listed))).toBe(true)
        expect(documents.some(({ other }) => other.tokens > 0)).toBe(true)
      })
    )

    it.effect("equals the reference computation after all usage is folded", () =>
      Effect.gen(function* () {
        yield* (yield* UsageRollUps).fold
        const documents = yield* compare(lastDay)
        expect(documents.some(({ fastest }) => fastest.length >= 2)).toBe(true)
      })
    )

    it.effect("can be computed when an upstream reports impossible speeds", () =>
      Effect.gen(function* () {
        const instantResponse = {
          consumed: { input: 0n, cacheWrite: 0n, cacheRead: 0n, output: 1_000_000_000n },
          streamed: true
        }
        const claim = aSettlement("gone", new Date(END - HOUR), 0, {
          ...instantResponse,
          ttftMillis: 1,
          durationMillis: 0
        })
        yield* storeModels([aModel("liar")])
        yield* storeSettlements([{ ...claim, model: "liar" }])
        const { models: actual } = yield* Effect.flatMap(RankingsHistory, ({ read }) =>
          read(minuteOf(new Date(END)), (firstUse) => historyQueryFor(new Date(END), firstUse))
        )
        const { speed } = actual.find(({ publicName }) => publicName === "liar") ?? {}
        expect(isNear(speed?.decitokensPerSecondP50 ?? 0, 1e13)).toBe(true)
      })
    )
  })
})
