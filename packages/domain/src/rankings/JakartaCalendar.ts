/**
 * Hours, days and weeks as Jakarta counts them: seven hours ahead of UTC all year, weeks from Monday.
 */
import * as Schema from "effect/Schema"

export const CalendarUnit = Schema.Literal("hour", "day", "week")
export type CalendarUnit = typeof CalendarUnit.Type

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const AHEAD = 7 * HOUR
const WEEK = 7 * DAY
/** 1970 began on a Thursday, in Jakarta as elsewhere: this is how long after a Monday. */
const THURSDAY = 3 * DAY

/** How long before `millis` the last whole step was. Steps are counted from 1970; the rest is positive before it too. */
export const past = (millis: number, step: number): number => ((millis % step) + step) % step

const LENGTHS: Record<CalendarUnit, number> = { hour: HOUR, day: DAY, week: WEEK }

/** When the hour, day or week of this instant began. */
export const startOf = (unit: CalendarUnit, at: Date): Date => {
  const shifted = at.getTime() + AHEAD + (unit === "week" ? THURSDAY : 0)
  return new Date(at.getTime() - past(shifted, LENGTHS[unit]))
}

/** When the one that began then ends. */
export const endOf = (unit: CalendarUnit, start: Date): Date => new Date(start.getTime() + LENGTHS[unit])

/** The calendar date of this instant, `YYYY-MM-DD`. */
export const dateOf = (at: Date): string => new Date(at.getTime() + AHEAD).toISOString().slice(0, 10)
