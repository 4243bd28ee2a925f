import { describe, expect, layer } from "@effect/vitest"
import * as PgRankingsHistory from "@tollgate/adapters-postgres/rankings/PgRankingsHistory"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { RankingsHistory } from "@tollgate/application/rankings/ReadRankings"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import { historyQueryFor, type ModelSpeed, type UsageHistory } from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf } from "@tollgate/domain/rankings/Window"
import { Effect, Layer } from "effect"
import type { RankedSettlement } from "../../support/RankingsReference.ts"
import { storeModels, storeSettlements } from "../../support/rankings/StoredUsage.ts"
import { aModel, aSettlement, DAY, historyOf, type Usage } from "../../support/rankings.ts"
import * as Stores from "../../support/Stores.ts"

const HOUR = 3_600_000
const MINUTE = 60_000
/** End of the last complete minute. The settlements of the test are recent, because old speeds are deleted. */
const END = Date.now() - (Date.now() % MINUTE)
/** Midnight in Jakarta, in the middle of the history. */
const MIDNIGHT = END - ((END + 7 * HOUR) % DAY) - 20 * DAY

const models = [
  aModel("alpha"),
  aModel("beta", { author: "Other" }),
  aModel("gone", { retired: true }),
  aModel("secret", { hidden: true }),
  aModel("painter", { kind: "image" }),
  aModel("vectors", { kind: "embedding" }),
  aModel("unused")
]

/** Returns the same pseudo-random numbers in every run. */
const drawn = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

const draw = drawn(7)
const below = (most: number) => Math.floor(draw() * most)
const oneOf = <A>(...choices: ReadonlyArray<A>): A => choices[below(choices.length)] as A

const anySettlement = (): RankedSettlement =>
  aSettlement(
    oneOf("alpha", "alpha", "beta", "gone", "secret", "painter", "vectors"),
    new Date(
      oneOf(
        MIDNIGHT - 20 * DAY + below(40 * DAY),
        END - below(8 * DAY),
        MIDNIGHT + (below(40) - 20) * DAY + oneOf(0, -1, 1, MINUTE, -MINUTE),
        END - below(3 * HOUR),
        END - 7 * DAY - HOUR + below(2 * HOUR)
      )
    ),
    below(1_000),
    {
      consumed: oneOf(
        {
          input: BigInt(below(1_000)),
          cacheWrite: BigInt(below(50)),
          cacheRead: BigInt(below(900)),
          output: BigInt(below(900))
        },
        { input: 0n, cacheWrite: 0n, cacheRead: 12n, output: 0n }
      ),
      streamed: oneOf(true, true, false),
      ending: oneOf("complete", "complete", "failed", "client_gone"),
      ttftMillis: oneOf(null, below(3_000), below(90)),
      durationMillis: oneOf(0, 1 + below(30_000))
    }
  )

const usage: Usage = { models, settlements: Array.from({ length: 3_000 }, anySettlement) }

const instants = [
  END,
  END - 1,
  END - HOUR / 2,
  END - (END % HOUR),
  END - 11 * HOUR,
  MIDNIGHT,
  MIDNIGHT + 1,
  MIDNIGHT - 1,
  MIDNIGHT - 19 * DAY
]
  .concat(Array.from({ length: 8 }, () => MIDNIGHT - 21 * DAY + below(42 * DAY)))
  .map((millis) => new Date(millis))

/** Returns the history of the models that have tokens, sorted by name. The speeds are compared separately. */
const shown = ({ firstUse, cuts, models }: UsageHistory) => ({
  firstUse,
  cuts,
  models: models
    .filter(({ tokens }) => tokens.some((counted) => counted > 0n))
    .map(({ speed: _, ...model }) => model)
    .sort((a, b) => (a.publicName < b.publicName ? -1 : 1))
})

const errorOf = (read: number, exact: number) => (exact < 100 ? Math.abs(read - exact) : Math.abs(read - exact) / exact)
const isNear = (actual: ModelSpeed | undefined, exact: ModelSpeed | undefined) =>
  (actual === undefined && exact === undefined) ||
  (actual !== undefined &&
    exact !== undefined &&
    actual.samples === exact.samples &&
    [
      errorOf(actual.decitokensPerSecondP50, exact.decitokensPerSecondP50),
      errorOf(actual.ttftMillisP50, exact.ttftMillisP50)
    ].every((error) => error < 0.01))

const isExactEverywhere = Effect.gen(function* () {
  const { read } = yield* RankingsHistory
  for (const now of instants) {
    const minute = minuteOf(now)
    const queryFor = (firstUse: Date | undefined) => historyQueryFor(now, firstUse)
    const actual = yield* read(minute, queryFor)
    const exact = historyOf(usage, minute, queryFor)
    expect(shown(actual), now.toISOString()).toEqual(shown(exact))
    if (now.getTime() < END - DAY / 2) continue
    expect(exact.models.some(({ speed }) => speed !== undefined)).toBe(true)
    const speeds = new Map(actual.models.map(({ publicName, speed }) => [publicName, speed]))
    for (const { publicName, speed } of exact.models) expect(isNear(speeds.get(publicName), speed)).toBe(true)
  }
})

describe("the usage history", () => {
  layer(Layer.mergeAll(PgRankingsHistory.layer, PgUsageRollUps.layer).pipe(Layer.provideMerge(Stores.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("is empty before the first settlement", () =>
      Effect.gen(function* () {
        yield* storeModels(models)
        const { read } = yield* RankingsHistory
        const before = new Date(END - MINUTE)
        const { firstUse, models: found } = yield* read(before, (first) => historyQueryFor(before, first))
        expect([firstUse, found]).toEqual([undefined, []])
      })
    )

    it.effect("equals a history computed from the settlements", () =>
      Effect.gen(function* () {
        const { fold } = yield* UsageRollUps
        const { settlements } = usage
        yield* storeSettlements(settlements.slice(0, 1_500))
        yield* fold
        yield* storeSettlements(settlements.slice(1_500))
        yield* isExactEverywhere
        expect(yield* fold).toBeGreaterThan(100)
        expect(yield* fold).toBe(0)
        yield* isExactEverywhere
      })
    )
  })
})
