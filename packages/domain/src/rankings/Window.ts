/**
 * Defines the time window of a ranking, its comparison period, and its buckets.
 *
 *     day    24 hours   hour buckets   compared with the preceding 24 hours
 *     week    7 days    day buckets    compared with the preceding 7 days
 *     month  30 days    day buckets    compared with the preceding 30 days
 *     all    since the first day with usage, week buckets, no comparison period
 *
 * Every window ends at the start of the current minute. Windows are half-open: usage settled at `to` is not included.
 */
import * as Schema from "effect/Schema"
import * as Jakarta from "./JakartaCalendar.ts"

export const Window = Schema.Literal("day", "week", "month", "all")
export type Window = typeof Window.Type

/** The kind of ranked models. `text` includes embedding models. Image models are not ranked. */
export const Modality = Schema.Literal("text")
export type Modality = typeof Modality.Type

/** A half-open interval: includes `from`, excludes `to`. */
export interface Interval {
  readonly from: Date
  readonly to: Date
}

export interface WindowRange extends Interval {
  /** The start of the comparison period, which ends at `from`; null if there is no comparison period. */
  readonly previousFrom: Date | null
  /** The date in Jakarta of the first recorded usage, `YYYY-MM-DD`; null if there is no usage. */
  readonly dataSince: string | null
}

/** One hour, day or week of the series. `start` may be before the window. `from` and `to` are within the window. */
export interface Bucket extends Interval {
  readonly start: Date
  readonly partial: boolean
}

const DAYS: Record<Exclude<Window, "all">, number> = { day: 1, week: 7, month: 30 }
const UNITS: Record<Window, Jakarta.CalendarUnit> = { day: "hour", week: "day", month: "day", all: "week" }

export const unitOf = (window: Window): Jakarta.CalendarUnit => UNITS[window]

/** Returns the start of the minute that contains `now`. */
export const minuteOf = (now: Date): Date =>
  new Date(now.getTime() - Jakarta.sinceLastStep(now.getTime(), Jakarta.MINUTE_MILLIS))

export const daysBefore = (at: Date, days: number): Date => new Date(at.getTime() - days * Jakarta.DAY_MILLIS)

/** Returns the range of a window at `now`. `firstUse` is the time of the first usage. Without usage, `all` is empty. */
export const rangeOf = (window: Window, now: Date, firstUse: Date | undefined): WindowRange => {
  const to = minuteOf(now)
  const first = firstUse !== undefined && firstUse < to ? firstUse : undefined
  const dataSince = first === undefined ? null : Jakarta.dateOf(first)
  if (window === "all") {
    return { from: first === undefined ? to : Jakarta.startOf("day", first), to, previousFrom: null, dataSince }
  }
  return { from: daysBefore(to, DAYS[window]), to, previousFrom: daysBefore(to, 2 * DAYS[window]), dataSince }
}

/** Returns the buckets that cover an interval. Cuts off the part of a bucket that is outside the interval. */
export const bucketsOf = (unit: Jakarta.CalendarUnit, { from, to }: Interval): ReadonlyArray<Bucket> => {
  if (from >= to) return []
  const buckets: Array<Bucket> = []
  for (let start = Jakarta.startOf(unit, from); start < to; start = Jakarta.endOf(unit, start)) {
    const end = Jakarta.endOf(unit, start)
    const partial = start < from || end > to
    buckets.push({ start, from: start < from ? from : start, to: end > to ? to : end, partial })
  }
  return buckets
}
