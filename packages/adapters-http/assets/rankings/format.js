/**
 * Formats the numbers and times of the rankings page. The hours and days of the chart are shown in Jakarta time, as in
 * the rankings document, whatever the user's time zone is.
 */
const ZONE = "Asia/Jakarta"

const whole = new Intl.NumberFormat("en-US")
const short = new Intl.NumberFormat("en-US", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3
})
const clock = new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, hour: "2-digit", minute: "2-digit" })
const day = new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, day: "numeric", month: "short" })
const weekday = new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, weekday: "short", day: "numeric", month: "short" })
const localClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" })
const date = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "long", year: "numeric" })

/** @param {number} tokens */
export const exactly = (tokens) => whole.format(tokens)

/** @param {number} tokens */
export const about = (tokens) => (tokens < 1_000 ? String(tokens) : short.format(tokens))

/** @param {number} basisPoints */
export const percentOf = (basisPoints) => `${(basisPoints / 100).toFixed(2)}%`

/** @param {number} milliseconds */
export const seconds = (milliseconds) =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(2)} s`

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
        : `Week of ${day.format(at)}`
  return partial ? `${name} (partial)` : name
}

/** @type {Record<string, { span: string, before: string }>} */
export const windows = {
  day: { span: "in the last 24 hours", before: "the 24 hours before" },
  week: { span: "in the last 7 days", before: "the 7 days before" },
  month: { span: "in the last 30 days", before: "the 30 days before" },
  all: { span: "in total", before: "" }
}
