/**
 * Formats the numbers and times of the rankings page. The hours and days of the chart are shown in Jakarta time, as in
 * the rankings document, whatever the user's time zone is.
 */
import { text } from "./messages.js"

const ZONE = "Asia/Jakarta"
const NUMBERS = text("locale.numbers")
const DATES = text("locale.dates")

const whole = new Intl.NumberFormat(NUMBERS)
const short = new Intl.NumberFormat(NUMBERS, {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3
})
const brief = new Intl.NumberFormat(NUMBERS, { notation: "compact", maximumSignificantDigits: 3 })
const oneDecimal = new Intl.NumberFormat(NUMBERS, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const twoDecimals = new Intl.NumberFormat(NUMBERS, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const clock = new Intl.DateTimeFormat(DATES, { timeZone: ZONE, hour: "2-digit", minute: "2-digit" })
const day = new Intl.DateTimeFormat(DATES, { timeZone: ZONE, day: "numeric", month: "short" })
const weekday = new Intl.DateTimeFormat(DATES, { timeZone: ZONE, weekday: "short", day: "numeric", month: "short" })
const localClock = new Intl.DateTimeFormat(DATES, { hour: "2-digit", minute: "2-digit" })
const date = new Intl.DateTimeFormat(DATES, { timeZone: "UTC", day: "numeric", month: "long", year: "numeric" })

/** @param {number} tokens */
export const exactly = (tokens) => whole.format(tokens)

/** @param {number} tokens */
export const about = (tokens) => (tokens < 1_000 ? String(tokens) : short.format(tokens))

/** @param {number} basisPoints */
export const percentOf = (basisPoints) => `${twoDecimals.format(basisPoints / 100)}%`

/** @param {number} perSecond */
export const speed = (perSecond) => oneDecimal.format(perSecond)

/** Formats a label beside the chart. @param {number} tokens */
export const axisLabel = (tokens) => (tokens === 0 ? "0" : brief.format(tokens))

/** @param {number} milliseconds */
export const seconds = (milliseconds) =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${twoDecimals.format(milliseconds / 1000)} s`

/** Formats a time in the user's time zone. @param {string} instant */
export const localTime = (instant) => localClock.format(new Date(instant))

/** Formats a date of the form YYYY-MM-DD. @param {string} calendar */
export const calendarDate = (calendar) => date.format(new Date(`${calendar}T00:00:00Z`))

/** Formats a label under the chart. @param {"hour" | "day" | "week"} bucket @param {string} start */
export const tick = (bucket, start) => (bucket === "hour" ? clock : day).format(new Date(start))

/** @param {"hour" | "day" | "week"} bucket @param {{ start: string, partial: boolean }} point */
export const bucketName = (bucket, { start, partial }) => {
  const at = new Date(start)
  const name =
    bucket === "hour"
      ? `${weekday.format(at)}, ${clock.format(at)}`
      : bucket === "day"
        ? weekday.format(at)
        : text("bucket.weekOf", { date: day.format(at) })
  return partial ? text("bucket.partial", { name }) : name
}

/** Returns the words for a window and for its comparison period. @param {"day" | "week" | "month" | "all"} window */
export const windowWords = (window) => ({
  span: text(`span.${window}`),
  before: window === "all" ? "" : text(`before.${window}`)
})
