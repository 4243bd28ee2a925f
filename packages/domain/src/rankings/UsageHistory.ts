/**
 * Defines the input of the rankings: for each ranked model, the tokens in each piece of the history, and the speed of
 * its streams.
 *
 *     cuts    c0      c1      c2      c3
 *     tokens  | t0    | t1    | t2    |        t0: settled at or after c0 and before c1
 *
 * A cut is an instant that divides the history. A piece is the part between two adjacent cuts. Every bucket and every
 * comparison period of every window begins and ends at a cut, so its tokens are a sum of whole pieces. Therefore one
 * query returns the data for the rankings of all windows.
 */
import * as Tokens from "../money/Tokens.ts"
import * as Jakarta from "./JakartaCalendar.ts"
import { bucketsOf, daysBefore, type Interval, minuteOf, rangeOf, unitOf, Window } from "./Window.ts"

/** The query for the history from which the rankings of all windows are computed. */
export interface HistoryQuery {
  /** Two or more different whole minutes, in ascending order. The last cut is the start of the current minute. */
  readonly cuts: ReadonlyArray<Date>
  /** The seven days before the last cut. Streams that were settled in this interval are speed samples. */
  readonly speeds: Interval
}

/**
 * The speed of a model's streams. A sample is a streamed request that ended complete and delivered content. If the
 * number of samples is even, the median is the lower of the two middle values.
 */
export interface ModelSpeed {
  readonly samples: number
  /**
   * The median of {@link decitokensPerSecond}, for durations from the request's acceptance to the end of the stream.
   */
  readonly decitokensPerSecondP50: number
  /** The median of the milliseconds from the request's acceptance to its first delta. */
  readonly ttftMillisP50: number
}

/** The history of one ranked model. The names are the names in the current catalog. */
export interface ModelHistory {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  /** True if the model's name must not appear in the rankings. */
  readonly hidden: boolean
  readonly retired: boolean
  /** The ranked tokens (`TokenUsage.ranked`) of each piece. */
  readonly tokens: ReadonlyArray<Tokens.Tokens>
  /** Undefined if there is no sample. May also be undefined if there are fewer than {@link MIN_SAMPLES} samples. */
  readonly speed: ModelSpeed | undefined
}

export interface UsageHistory {
  /**
   * The minute in which tokens of a ranked model were first settled. If this minute is more than 62 days ago, its cells
   * are deleted, and `firstUse` is the start of its day in Jakarta. Undefined if no such tokens were settled before the
   * last cut.
   */
  readonly firstUse: Date | undefined
  readonly cuts: ReadonlyArray<Date>
  /** Contains each model at most once. Models without tokens and samples may be absent. */
  readonly models: ReadonlyArray<ModelHistory>
}

/** The speed of a model with fewer samples than this number is not shown (docs/reference/rankings.md#rank-10). */
export const MIN_SAMPLES = 200

/** The number of days that `trending` and `fastest` cover. This number is the same for every window. */
export const RECENT_DAYS = 7

/** Divides two non-negative integers and rounds the quotient to the nearest integer. A half is rounded up. */
export const divideHalfUp = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor)

/**
 * Returns the speed of one stream in tenths of an output token per second. A duration below one millisecond counts as
 * one millisecond.
 */
export const decitokensPerSecond = (outputTokens: bigint, durationMillis: number): bigint =>
  divideHalfUp(outputTokens * 10_000n, BigInt(Math.max(durationMillis, 1)))

/** Returns the query for the rankings of all windows at `now`. */
export const historyQueryFor = (now: Date, firstUse: Date | undefined): HistoryQuery => {
  const to = minuteOf(now)
  const recent = daysBefore(to, RECENT_DAYS)
  const windowCuts = Window.literals.flatMap((window) => {
    const range = rangeOf(window, now, firstUse)
    return [range.from, range.previousFrom ?? to, ...bucketsOf(unitOf(window), range).map(({ from }) => from)]
  })
  const millis = new Set([to, recent, daysBefore(to, 2 * RECENT_DAYS), ...windowCuts].map((at) => at.getTime()))
  return {
    cuts: [...millis].sort((a, b) => a - b).map((at) => new Date(at)),
    speeds: { from: recent, to }
  }
}

/** Returns the tokens of a model in an interval that begins and ends at cuts. */
export type TokensOver = (interval: Interval, model: Pick<ModelHistory, "tokens">) => Tokens.Tokens

export const tokensOver = ({ cuts }: Pick<UsageHistory, "cuts">): TokensOver => {
  const positions = new Map(cuts.map((cut, i) => [cut.getTime(), i]))
  const position = (at: Date) => positions.get(at.getTime()) ?? 0
  return ({ from, to }, { tokens }) => Tokens.sum(tokens.slice(position(from), position(to)))
}

/**
 * Returns the hours, days or weeks with a cut inside them, not at their start. A sum over such a unit does not separate
 * the tokens before the cut from the tokens after the cut.
 */
export const bucketsSplitBy = (cuts: ReadonlyArray<Date>, unit: Jakarta.CalendarUnit): ReadonlyArray<Interval> => {
  const starts = new Set(
    cuts
      .map((cut) => ({ cut, start: Jakarta.startOf(unit, cut) }))
      .filter(({ cut, start }) => start < cut)
      .map(({ start }) => start.getTime())
  )
  return [...starts].map((start) => ({ from: new Date(start), to: Jakarta.endOf(unit, new Date(start)) }))
}
