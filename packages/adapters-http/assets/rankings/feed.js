/**
 * Reads the rankings document from `/api/rankings`, and declares the types of the members that the page uses.
 *
 * @typedef {"day" | "week" | "month" | "all"} Window
 * @typedef {{ rank: number, public_name: string, display_name: string, author: string, listed: boolean, tokens: number,
 *   previous_tokens: number | null, change_pct: number | null, is_new: boolean }} Leader
 * @typedef {{ start: string, partial: boolean, values: Record<string, number>, other: number }} Point
 * @typedef {{ bucket: "hour" | "day" | "week", keys: ReadonlyArray<string>, points: ReadonlyArray<Point> }} Series
 * @typedef {{ author: string, tokens: number, share_bp: number }} Author
 * @typedef {{ public_name: string, display_name: string, author: string, tokens: number, change_pct: number | null,
 *   is_new: boolean }} Trend
 * @typedef {{ public_name: string, display_name: string, author: string, tps_p50: number, ttft_p50_ms: number,
 *   samples_bucket: string }} Speed
 * @typedef {{ generated_at: string, window: Window,
 *   range: { from: string, to: string, previous_from: string | null, data_since: string | null },
 *   totals: { tokens: number, previous_tokens: number | null }, leaderboard: ReadonlyArray<Leader>,
 *   other: { tokens: number }, series: Series, authors: ReadonlyArray<Author>, trending: ReadonlyArray<Trend>,
 *   fastest: ReadonlyArray<Speed> }} Rankings
 */

/** The error for a deployment that does not publish rankings. */
export class Disabled extends Error {}

const TIMEOUT_MILLIS = 15_000

/** @param {Window} window */
export const addressOf = (window) => `/api/rankings?window=${window}`

/**
 * @param {Window} window
 * @param {AbortSignal} aborted aborts the request when the user selects another window
 * @param {RequestCache} cache
 * @returns {Promise<Rankings>}
 */
export const read = async (window, aborted, cache) => {
  const signal = AbortSignal.any([aborted, AbortSignal.timeout(TIMEOUT_MILLIS)])
  const response = await fetch(addressOf(window), { signal, cache })
  if (response.status === 404) throw new Disabled()
  if (!response.ok) throw new Error(`the feed returned status ${response.status}`)
  return await response.json()
}

/**
 * Returns the change of the total in whole percent, with halves rounded away from zero, as in `change_pct`. Returns null
 * if there is no comparison period, or if the comparison period has no usage.
 * @param {Rankings["totals"]} totals
 */
export const totalChange = ({ tokens, previous_tokens: previous }) => {
  if (previous === null || previous === 0) return null
  const percent = Math.round((Math.abs(tokens - previous) * 100) / previous)
  return tokens < previous ? -percent : percent
}

/**
 * Returns whether a column begins before the window and therefore shows only a part of its usage. Returns false if the
 * service has no usage before the window. The column of the current hour, day or week is partial too, but it shows all
 * usage so far.
 * @param {Point} point @param {Rankings["range"]} range
 */
export const isCut = ({ start, partial }, { from, data_since: since }) =>
  partial &&
  Date.parse(start) < Date.parse(from) &&
  since !== null &&
  Date.parse(`${since}T00:00:00+07:00`) < Date.parse(from)
