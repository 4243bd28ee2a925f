/**
 * What rankings are made from: tokens of each text model between instants, and how fast its streams were.
 *
 *     cuts    c0      c1      c2      c3
 *     tokens  | t0    | t1    | t2    |        t0 is what was settled from c0 up to, not including, c1
 *
 * Whoever keeps the history is told where to cut, so that every bucket and comparison period of every window is a sum of
 * whole pieces, and all rankings of an instant come of one look.
 */
import * as Tokens from "../money/Tokens.ts"
import * as Jakarta from "./JakartaCalendar.ts"
import { bucketsOf, daysBefore, type Interval, minuteOf, rangeOf, unitOf, Window } from "./Window.ts"

/** What to look up. */
export interface HistoryQuestion {
  /** Whole minutes, ascending and different, at least two; the last one is the snapshot's minute. */
  readonly cuts: ReadonlyArray<Date>
  /** Streams that were settled in it are looked at for speed: the seven days before the snapshot's minute. */
  readonly speeds: Interval
}

/**
 * How fast a model's streams were. A sample is a streamed request that ended complete and delivered content. Medians are
 * of all samples, the lower one of two: half of the samples or more are at or below it.
 */
export interface ModelSpeed {
  readonly samples: number
  /** Median of output tokens by the second in tenths, each from acceptance to the end (see {@link decitokensPerSecond}). */
  readonly decitokensPerSecondP50: number
  /** Median of the milliseconds from acceptance to the first delta. */
  readonly ttftMillisP50: number
}

/** A text model and its part of the history. Names are those the catalog has now. */
export interface ModelHistory {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  /** Never named in rankings. */
  readonly hidden: boolean
  readonly retired: boolean
  /** One figure between each two cuts; `TokenUsage.ranked` of what was consumed. */
  readonly tokens: ReadonlyArray<Tokens.Tokens>
  /** Absent when there was no sample; may be absent below {@link FEWEST_SAMPLES}. */
  readonly speed: ModelSpeed | undefined
}

export interface UsageHistory {
  /**
   * The minute in which the first tokens of any text model were settled, or, when that is months ago, the beginning of its
   * day in Jakarta; absent without any before the last cut.
   */
  readonly firstUse: Date | undefined
  readonly cuts: ReadonlyArray<Date>
  /** Each model at most once; those without any figure may be left out. */
  readonly models: ReadonlyArray<ModelHistory>
}

/** A model with fewer samples has no speed to show (spec: Limits). */
export const FEWEST_SAMPLES = 200

/** Days that trending and speed look back on, whatever the window. */
export const RECENT_DAYS = 7

/** The speed of one stream: output tokens by the second, in tenths, rounded half up. Less than a millisecond counts as one. */
export const decitokensPerSecond = (outputTokens: bigint, durationMillis: number): bigint => {
  const millis = BigInt(Math.max(durationMillis, 1))
  return (outputTokens * 20_000n + millis) / (2n * millis)
}

/** For the rankings of all windows at this instant. */
export const questionFor = (now: Date, firstUse: Date | undefined): HistoryQuestion => {
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

/** The hours or days that hold a cut inside: of these, their sums do not tell on which side the tokens are. */
export const dividedBy = (cuts: ReadonlyArray<Date>, unit: Jakarta.CalendarUnit): ReadonlyArray<Interval> => {
  const starts = new Set(
    cuts
      .map((cut) => ({ cut, start: Jakarta.startOf(unit, cut) }))
      .filter(({ cut, start }) => start < cut)
      .map(({ start }) => start.getTime())
  )
  return [...starts].map((start) => ({ from: new Date(start), to: Jakarta.endOf(unit, new Date(start)) }))
}
