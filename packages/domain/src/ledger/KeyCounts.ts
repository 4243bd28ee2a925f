/**
 * The counts of a limited key over all nodes: its spend, its open requests, and the requests and tokens of its current
 * rate window. The ledger reads and writes them in the transaction that decides a request.
 *
 *     available budget = limit - spent - pending
 *
 * `pending` is the sum of the budget parts of all open holds. Unless a budget is lowered, the budget can be exceeded
 * only by a request that costs more than the budget part of its hold.
 */

import { UsdPico } from "../money/UsdPico.ts"
import { dateOf, MINUTE_MILLIS } from "../rankings/JakartaCalendar.ts"

/**
 * A period of 60 seconds with the number of requests of a key and, separately, the number of their tokens. After the
 * end of a window, the next request begins a new one. So does a settlement that charges more tokens than were counted
 * at the admission.
 */
export interface RateWindow {
  /** The number of the window. It is larger than the numbers of all earlier windows of the key. */
  readonly number: bigint
  readonly beganAtMillis: number
  readonly requests: number
  readonly tokens: bigint
}

export interface KeyCounts {
  /** The day of `spentInDay`, as a date in Jakarta. */
  readonly day: string
  readonly spentInDay: UsdPico
  /** The spend in the month of `day`. */
  readonly spentInMonth: UsdPico
  readonly spentTotal: UsdPico
  /** The part of the budget that open holds set aside. */
  readonly pending: UsdPico
  readonly openRequests: number
  readonly window: RateWindow
}

/** The limits that the ledger checks. An undefined member means that there is no such limit. */
export interface CountedLimits {
  readonly spendPerDay: UsdPico | undefined
  readonly spendPerMonth: UsdPico | undefined
  readonly spendTotal: UsdPico | undefined
  readonly requestsPerMinute: number | undefined
  readonly tokensPerMinute: bigint | undefined
  readonly concurrentRequests: number | undefined
}

/** A limited key, as a transaction reads it. */
export interface CountedKey {
  readonly limits: CountedLimits
  readonly counts: KeyCounts
}

export const RATE_WINDOW_MILLIS = MINUTE_MILLIS

/** The largest stored spend. A larger spend is stored as this amount, which is above every limit. */
const MAX_SPENT = 9_000_000_000_000_000_000n

/**
 * Returns the counts at a time. A new day or month begins without spend. The day never changes to an earlier day, even
 * if the clock goes back.
 */
export const countsAt = (counts: KeyCounts, nowMillis: number): KeyCounts => {
  const today = dateOf(new Date(nowMillis))
  if (today <= counts.day) return counts
  const isSameMonth = today.slice(0, 7) === counts.day.slice(0, 7)
  return {
    ...counts,
    day: today,
    spentInDay: UsdPico(0n),
    spentInMonth: isSameMonth ? counts.spentInMonth : UsdPico(0n)
  }
}

/**
 * A window that begins less than 60 seconds in the future is current, because the clocks of two nodes differ slightly.
 * A window that begins later than that counts as ended, because the clock was set back.
 */
const hasWindowEnded = ({ beganAtMillis }: RateWindow, nowMillis: number): boolean =>
  Math.abs(nowMillis - beganAtMillis) >= RATE_WINDOW_MILLIS

/** Returns the current window; a new window if the last window has ended. */
export const windowAt = (window: RateWindow, nowMillis: number): RateWindow =>
  hasWindowEnded(window, nowMillis)
    ? { number: window.number + 1n, beganAtMillis: nowMillis, requests: 0, tokens: 0n }
    : window

/**
 * Returns the amount that a new hold can set aside from the budgets; undefined if the key has no budget. `counts` are
 * the counts at the time of the decision.
 */
export const availableBudget = (limits: CountedLimits, counts: KeyCounts): UsdPico | undefined => {
  let least: bigint | undefined
  const consider = (limit: bigint | undefined, spent: bigint) => {
    if (limit === undefined) return
    const left = limit - spent - counts.pending
    least = least === undefined || left < least ? left : least
  }
  consider(limits.spendPerDay, counts.spentInDay)
  consider(limits.spendPerMonth, counts.spentInMonth)
  consider(limits.spendTotal, counts.spentTotal)
  return least === undefined ? undefined : UsdPico(least > 0n ? least : 0n)
}

/** Adds a cost to the spend of the day, the month and in total. */
export const spend = (counts: KeyCounts, cost: UsdPico): KeyCounts => ({
  ...counts,
  spentInDay: added(counts.spentInDay, cost),
  spentInMonth: added(counts.spentInMonth, cost),
  spentTotal: added(counts.spentTotal, cost)
})

const added = (spent: UsdPico, cost: UsdPico): UsdPico => UsdPico(spent + cost < MAX_SPENT ? spent + cost : MAX_SPENT)
