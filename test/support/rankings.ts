/**
 * Generates random models and settlements for rankings tests. Many settlements are close to the edges of buckets and
 * windows.
 */
import { Tokens } from "@tollgate/domain/money/Tokens"
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import { rankUsage } from "@tollgate/domain/rankings/RankUsage"
import {
  decitokensPerSecond,
  type HistoryQuery,
  historyQueryFor,
  type ModelSpeed,
  type UsageHistory
} from "@tollgate/domain/rankings/UsageHistory"
import { minuteOf, type Window } from "@tollgate/domain/rankings/Window"
import { FastCheck } from "effect"
import type { RankedModel, RankedSettlement, RankingsDocument } from "./RankingsReference.ts"

export interface Usage {
  readonly models: ReadonlyArray<RankedModel>
  readonly settlements: ReadonlyArray<RankedSettlement>
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const aModel = (publicName: string, facts: Partial<RankedModel> = {}): RankedModel => ({
  publicName,
  displayName: `The ${publicName}`,
  author: "Author",
  kind: "text",
  hidden: false,
  retired: false,
  ...facts
})

/** Returns a settlement with this many consumed tokens. By default all of them are input tokens. */
export const aSettlement = (
  model: string,
  settledAt: Date | string,
  tokens: number,
  facts: Partial<RankedSettlement> = {}
): RankedSettlement => ({
  model,
  settledAt: new Date(settledAt),
  consumed: { input: BigInt(tokens), cacheWrite: 0n, cacheRead: 0n, output: 0n },
  streamed: false,
  ending: "complete",
  ttftMillis: null,
  durationMillis: 1_000,
  ...facts
})

/**
 * Computes the usage history from every settlement. A real store reads it from stored sums and must return the same.
 */
export const historyOf = (
  { models, settlements }: Usage,
  minute: Date,
  queryFor: (firstUse: Date | undefined) => HistoryQuery
): UsageHistory => {
  const known = new Set(models.filter(({ kind }) => kind !== "image").map(({ publicName }) => publicName))
  const counted = settlements.filter(({ model, settledAt }) => known.has(model) && settledAt < minute)
  const used = counted.filter((settlement) => ranked(settlement) > 0n).map(({ settledAt }) => settledAt.getTime())
  const firstUse = used.length === 0 ? undefined : minuteOf(new Date(Math.min(...used)))
  const { cuts, speeds } = queryFor(firstUse)
  const within = (settlement: RankedSettlement, from: Date, to: Date) =>
    settlement.settledAt >= from && settlement.settledAt < to
  return {
    firstUse,
    cuts,
    models: models
      .filter(({ publicName }) => known.has(publicName))
      .map(({ kind, ...model }) => {
        const own = counted.filter((settlement) => settlement.model === model.publicName)
        return {
          ...model,
          tokens: cuts
            .slice(1)
            .map((to, i) =>
              Tokens(
                own
                  .filter((settlement) => within(settlement, cuts[i] ?? to, to))
                  .reduce((sum, settlement) => sum + ranked(settlement), 0n)
              )
            ),
          speed: speedOf(own.filter((settlement) => within(settlement, speeds.from, speeds.to)))
        }
      })
  }
}

const ranked = ({ consumed }: RankedSettlement) => consumed.input + consumed.cacheWrite + consumed.output

const speedOf = (settlements: ReadonlyArray<RankedSettlement>): ModelSpeed | undefined => {
  const samples = settlements.flatMap(({ streamed, ending, ttftMillis, consumed, durationMillis }) =>
    streamed && ending === "complete" && ttftMillis !== null
      ? [{ ttftMillis, speed: Number(decitokensPerSecond(consumed.output, durationMillis)) }]
      : []
  )
  return samples.length === 0
    ? undefined
    : {
        samples: samples.length,
        decitokensPerSecondP50: lowerMedian(samples.map(({ speed }) => speed)),
        ttftMillisP50: lowerMedian(samples.map(({ ttftMillis }) => ttftMillis))
      }
}

const lowerMedian = (values: ReadonlyArray<number>) =>
  [...values].sort((a, b) => a - b)[Math.trunc((values.length - 1) / 2)] ?? 0

export const ranksOf = (usage: Usage, window: Window, now: Date): Rankings =>
  rankUsage(
    historyOf(usage, minuteOf(now), (firstUse) => historyQueryFor(now, firstUse)),
    window,
    now
  )

/** Converts rankings to the document of the API, with the member names of the wire format. */
export const documentOf = (rankings: Rankings): RankingsDocument => ({
  schema_version: rankings.schemaVersion,
  generated_at: rankings.generatedAt.toISOString(),
  window: rankings.window,
  modality: rankings.modality,
  range: {
    from: rankings.range.from.toISOString(),
    to: rankings.range.to.toISOString(),
    previous_from: rankings.range.previousFrom?.toISOString() ?? null,
    data_since: rankings.range.dataSince
  },
  totals: { tokens: Number(rankings.totals.tokens), previous_tokens: whole(rankings.totals.previousTokens) },
  leaderboard: rankings.leaderboard.map((entry) => ({
    rank: entry.rank,
    ...nameOf(entry),
    listed: entry.listed,
    tokens: Number(entry.tokens),
    previous_tokens: whole(entry.previousTokens),
    change_pct: whole(entry.changePct),
    is_new: entry.isNew
  })),
  other: { tokens: Number(rankings.other.tokens) },
  series: {
    bucket: rankings.series.bucket,
    keys: [...rankings.series.keys],
    points: rankings.series.points.map(({ start, partial, values, other }) => ({
      start: start.toISOString(),
      partial,
      values: Object.fromEntries(rankings.series.keys.map((key, i) => [key, Number(values[i])])),
      other: Number(other)
    }))
  },
  authors: rankings.authors.map(({ author, tokens, shareBp }) => ({
    author,
    tokens: Number(tokens),
    share_bp: Number(shareBp)
  })),
  trending: rankings.trending.map((entry) => ({
    ...nameOf(entry),
    tokens: Number(entry.tokens),
    change_pct: whole(entry.changePct),
    is_new: entry.isNew
  })),
  fastest: rankings.fastest.map((entry) => ({
    ...nameOf(entry),
    tps_p50: entry.tpsP50,
    ttft_p50_ms: entry.ttftP50Millis,
    samples_bucket: entry.samplesBucket
  }))
})

const whole = (amount: bigint | null) => (amount === null ? null : Number(amount))

const nameOf = ({ publicName, displayName, author }: { publicName: string; displayName: string; author: string }) => ({
  public_name: publicName,
  display_name: displayName,
  author
})

export const window: FastCheck.Arbitrary<Window> = FastCheck.constantFrom("day", "week", "month", "all")

/** Midnight in Jakarta on a Monday that is also the first day of a month. */
const A_MONDAY = Date.parse("2026-06-01T00:00:00.000+07:00")

/**
 * An offset of at most one minute in either direction, in milliseconds. About half of the offsets are boundary values.
 */
const nearby = FastCheck.oneof(
  FastCheck.constantFrom(0, -1, 1, -1_000, 1_000, 59_999, -MINUTE, MINUTE),
  FastCheck.integer({ min: -MINUTE, max: MINUTE })
)

/** Any instant within two months. It is often close to a midnight in Jakarta, a Monday or the first day of a month. */
export const now: FastCheck.Arbitrary<Date> = FastCheck.oneof(
  FastCheck.integer({ min: -30 * DAY, max: 30 * DAY }),
  FastCheck.tuple(FastCheck.integer({ min: -30, max: 30 }), nearby).map(([days, off]) => days * DAY + off),
  FastCheck.tuple(FastCheck.integer({ min: -4, max: 4 }), nearby).map(([weeks, off]) => weeks * 7 * DAY + off),
  nearby
).map((millis) => new Date(A_MONDAY + millis))

/**
 * Any instant from about 70 days before a snapshot to 5 minutes after it, often close to the edge of a window or an
 * hour.
 */
const settledAround = (now: Date): FastCheck.Arbitrary<Date> => {
  const minute = minuteOf(now).getTime()
  const edges = [0, 1, 2, 7, 14, 30, 60].map((days) => minute - days * DAY)
  return FastCheck.oneof(
    FastCheck.integer({ min: -70 * DAY, max: 5 * MINUTE }).map((millis) => minute + millis),
    FastCheck.tuple(FastCheck.constantFrom(...edges), nearby).map(([edge, off]) => edge + off),
    FastCheck.tuple(FastCheck.nat(70 * 24), nearby).map(([hours, off]) => minute - (minute % HOUR) - hours * HOUR + off)
  ).map((millis) => new Date(millis))
}

const count = FastCheck.oneof(
  FastCheck.nat(1_000),
  FastCheck.integer({ min: 400_000, max: 2_500_000 }),
  FastCheck.constantFrom(0, 1, 500_000, 1_000_000, 1_000_000_000)
).map(BigInt)

const models: FastCheck.Arbitrary<ReadonlyArray<RankedModel>> = FastCheck.array(
  FastCheck.record({
    author: FastCheck.constantFrom("Ada", "Bela", "Citra", "Dewi", "Eka"),
    kind: FastCheck.constantFrom<RankedModel["kind"]>("text", "text", "text", "embedding", "image"),
    hidden: FastCheck.constantFrom(false, false, false, true),
    retired: FastCheck.constantFrom(false, false, false, true)
  }),
  { minLength: 1, maxLength: 14 }
).map((all) => all.map((facts, i) => aModel(`model-${i}`, facts)))

/** An instant, and usage that was mostly settled before it. */
export const usageBefore: FastCheck.Arbitrary<{ readonly usage: Usage; readonly now: Date }> = FastCheck.tuple(
  now,
  models
).chain(([at, models]) =>
  FastCheck.array(
    FastCheck.record({
      model: FastCheck.constantFrom(...models.map(({ publicName }) => publicName)),
      settledAt: settledAround(at),
      consumed: FastCheck.record({ input: count, cacheWrite: count, cacheRead: count, output: count }),
      streamed: FastCheck.boolean(),
      ending: FastCheck.constantFrom<RankedSettlement["ending"]>(
        "complete",
        "client_gone",
        "upstream_cut",
        "balance_exhausted",
        "failed",
        "orphaned"
      ),
      ttftMillis: FastCheck.constantFrom(null, 0, 100, 250),
      durationMillis: FastCheck.constantFrom(0, 1, 700, 60_000)
    }),
    { maxLength: 80 }
  ).map((settlements) => ({ usage: { models, settlements }, now: at }))
)
