/**
 * Reads a range of days in the time zone Asia/Jakarta, seven hours ahead of UTC all year. A query names its first and
 * last day as `YYYY-MM-DD`. Both days are in the range.
 */
import * as Either from "effect/Either"
import type { FieldIssue } from "./Validation.ts"

/** The query parameters as received. */
export interface DaysQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The instants of a range of days. Undefined means that the range has no limit on this side. */
export interface TimeRange {
  /** The start of the first day. */
  readonly from: Date | undefined
  /** The end of the last day, which is the start of the day after it. */
  readonly before: Date | undefined
}

/** A range with a first and a last day. */
export interface DayRange {
  readonly firstDay: string
  readonly lastDay: string
  readonly range: { readonly from: Date; readonly before: Date }
}

export const MAX_DAYS = 92
const DEFAULT_DAYS = 31
const DAY_MILLIS = 86_400_000
const JAKARTA_MILLIS = 7 * 3_600_000

/** Returns the calendar date of an instant in Asia/Jakarta. */
export const dayOf = (instant: Date): string => new Date(instant.getTime() + JAKARTA_MILLIS).toISOString().slice(0, 10)

/** Returns the start of a day. */
const startOf = (day: string): Date => new Date(`${day}T00:00:00+07:00`)

const daysLater = (instant: Date, days: number): Date => new Date(instant.getTime() + days * DAY_MILLIS)

/** Returns true for a calendar date of the years 2000 to 2999. The 30th of February is not a date. */
const isDay = (text: string): boolean =>
  /^2\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(startOf(text).getTime()) && dayOf(startOf(text)) === text

const issueOf = (path: string, text: string | undefined): ReadonlyArray<FieldIssue> =>
  text === undefined || isDay(text) ? [] : [{ path, message: "a date like 2026-11-20" }]

const WRONG_ORDER: FieldIssue = { path: "to", message: "a date that is not before `from`" }

/** Reads a range that can lack its first day, its last day or both. */
export const readTimeRange = ({ from, to }: DaysQuery): Either.Either<TimeRange, ReadonlyArray<FieldIssue>> => {
  const issues = [...issueOf("from", from), ...issueOf("to", to)]
  if (issues.length > 0) return Either.left(issues)
  if (from !== undefined && to !== undefined && to < from) return Either.left([WRONG_ORDER])
  return Either.right({
    from: from === undefined ? undefined : startOf(from),
    before: to === undefined ? undefined : daysLater(startOf(to), 1)
  })
}

/**
 * Reads a range of at most {@link MAX_DAYS} days. By default the last day is today, and the range has
 * {@link DEFAULT_DAYS} days.
 */
export const readDayRange = (query: DaysQuery, now: Date): Either.Either<DayRange, ReadonlyArray<FieldIssue>> => {
  const given = readTimeRange(query)
  if (Either.isLeft(given)) return Either.left(given.left)
  const before = given.right.before ?? daysLater(startOf(dayOf(now)), 1)
  const from = given.right.from ?? daysLater(before, -DEFAULT_DAYS)
  if (from >= before) return Either.left([{ path: "from", message: "a date that is not after `to` or today" }])
  if (daysLater(from, MAX_DAYS) < before) {
    return Either.left([{ path: "from", message: `a date at most ${MAX_DAYS - 1} days before \`to\`` }])
  }
  return Either.right({ firstDay: dayOf(from), lastDay: dayOf(daysLater(before, -1)), range: { from, before } })
}
