/**
 * The input of the rankings: the tokens of each text model between instants, and the speed of its streams.
 *
 *     cuts    c0      c1      c2      c3
 *     tokens  | t0    | t1    | t2    |        t0 was settled from c0 up to, not including, c1
 *
 * The query names the cuts, so that every bucket and comparison period of every window is a sum of whole pieces, and one
 * query is enough for all rankings of an instant.
 */
import * as Tokens from "../money/Tokens.ts"
import * as Jakarta from "./JakartaCalendar.ts"
import { bucketsOf, daysBefore, type Interval, minuteOf, rangeOf, unitOf, Window } from "./Window.ts"

/** The history that the rankings of one instant need. */
export interface HistoryQuery {
  /** Whole minutes, ascending and different, at least two; the last one is the snapshot's minute. */
  readonly cuts: ReadonlyArray<Date>
  /** Streams settled in this interval count for speed: the seven days before the snapshot's minute. */
  readonly speeds: Interval
}

/**
 * The speed of a model's streams. A sample is a streamed request that ended complete and delivered content. Medians are
 * over all samples, the lower of the middle two: at least half of the samples are at or below it.
 */
export interface ModelSpeed {
  readonly samples: number
  /** Median of output tokens per second in tenths, each from acceptance to the end (see {@link decitokensPerSecond}). */
  readonly decitokensPerSecondP50: number
  /** Median of the milliseconds from acceptance to the first delta. */
  readonly ttftMillisP50: number
}

/** A text model and its part of the history. Names are those of the current catalog. */
export interface ModelHistory {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  /** Never named in rankings. */
  readonly hidden: boolean
  readonly retired: boolean
  /** One figure between each two cuts; `TokenUsage.ranked` of the consumed tokens. */
  readonly tokens: ReadonlyArray<Tokens.Tokens>
  /** Absent when there was no sample; may be absent below {@link MIN_SAMPLES}. */
  readonly speed: ModelSpeed | undefined
}

export interface UsageHistory {
  /**
   * The minute in which the first tokens of any text model were settled. When that is months ago, the beginning of its day
   * in Jakarta. Absent when no tokens were settled before the last cut.
   */
  readonly firstUse: Date | undefined
  readonly cuts: ReadonlyArray<Date>
  /** Each model at most once; those without any figure may be left out. */
  readonly models: ReadonlyArray<ModelHistory>
}

/** The speed of a model with fewer samples is not shown (docs/reference/rankings.md#rank-10). */
export const MIN_SAMPLES = 200

/** The period of trending and speed in days, the same for every window. */
export const RECENT_DAYS = 7

/** The quotient of two amounts that are not negative, rounded half up to an integer. */
export const divideHalfUp = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor)

/** The speed of one stream: output tokens per second, in tenths. A duration below one millisecond counts as one. */
export const decitokensPerSecond = (outputTokens: bigint, durationMillis: number): bigint =>
  divideHalfUp(outputTokens * 10_000n, BigInt(Math.max(durationMillis, 1)))

/** The query for the rankings of all windows at this instant. */
export const historyQueryFor = (now: Date, firstUse: Date | undefined): HistoryQuery => {
  const to = minuteOf(now)
  const recent = daysBefore(to, RECENT_DAYS)
  const edges = Window.literals.flatMap((window) => {
    const range = rangeOf(window, now, firstUse)
    return [range.from, range.previousFrom ?? to, ...bucketsOf(unitOf(window), range).map(({ from }) => from)]
  })
  const millis = new Set([to, recent, daysBefore(to, 2 * RECENT_DAYS), ...edges].map((at) => at.getTime()))
  return {
    cuts: [...millis].sort((a, b) => a - b).map((at) => new Date(at)),
    speeds: { from: recent, to }
  }
}

/** The tokens of a model over an interval that begins and ends at cuts. */
export type TokensOver = (interval: Interval, model: Pick<ModelHistory, "tokens">) => Tokens.Tokens

export const tokensOver = ({ cuts }: Pick<UsageHistory, "cuts">): TokensOver => {
  const positions = new Map(cuts.map((cut, i) => [cut.getTime(), i]))
  const position = (at: Date) => positions.get(at.getTime()) ?? 0
  return ({ from, to }, { tokens }) => Tokens.sum(tokens.slice(position(from), position(to)))
}

/** The hours or days with a cut inside: their sums do not separate the tokens before the cut from those after it. */
export const bucketsSplitBy = (cuts: ReadonlyArray<Date>, unit: Jakarta.CalendarUnit): ReadonlyArray<Interval> => {
  const starts = new Set(
    cuts
      .map((cut) => ({ cut, start: Jakarta.startOf(unit, cut) }))
      .filter(({ cut, start }) => start < cut)
      .map(({ start }) => start.getTime())
  )
  return [...starts].map((start) => ({ from: new Date(start), to: Jakarta.endOf(unit, new Date(start)) }))
}
