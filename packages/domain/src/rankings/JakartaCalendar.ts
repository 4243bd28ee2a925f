/**
 * Computes hours, days and weeks in Jakarta time, which is seven hours ahead of UTC all year. Weeks begin on Monday.
 */
import * as Schema from "effect/Schema"

export const CalendarUnit = Schema.Literal("hour", "day", "week")
export type CalendarUnit = typeof CalendarUnit.Type

export const MINUTE_MILLIS = 60_000
export const HOUR_MILLIS = 60 * MINUTE_MILLIS
export const DAY_MILLIS = 24 * HOUR_MILLIS

const UTC_OFFSET_MILLIS = 7 * HOUR_MILLIS
const WEEK_MILLIS = 7 * DAY_MILLIS
/** 1970-01-01 was a Thursday, three days after a Monday. */
const EPOCH_AFTER_MONDAY_MILLIS = 3 * DAY_MILLIS

/** Returns the distance from the last multiple of `step` to `millis`. It is not negative, even if `millis` is. */
export const sinceLastStep = (millis: number, step: number): number => ((millis % step) + step) % step

const LENGTHS: Record<CalendarUnit, number> = { hour: HOUR_MILLIS, day: DAY_MILLIS, week: WEEK_MILLIS }

/** Returns the start of the hour, day or week that contains `at`. */
export const startOf = (unit: CalendarUnit, at: Date): Date => {
  const shifted = at.getTime() + UTC_OFFSET_MILLIS + (unit === "week" ? EPOCH_AFTER_MONDAY_MILLIS : 0)
  return new Date(at.getTime() - sinceLastStep(shifted, LENGTHS[unit]))
}

/** Returns the end of the hour, day or week that begins at `start`. */
export const endOf = (unit: CalendarUnit, start: Date): Date => new Date(start.getTime() + LENGTHS[unit])

/** Returns the calendar date of `at` in Jakarta, as `YYYY-MM-DD`. */
export const dateOf = (at: Date): string => new Date(at.getTime() + UTC_OFFSET_MILLIS).toISOString().slice(0, 10)
