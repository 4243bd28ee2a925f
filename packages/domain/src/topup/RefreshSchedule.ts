/**
 * Schedules the background refreshes of an order (docs/reference/reseller.md#d10).
 *
 * Open orders are refreshed until they close. Expired and failed orders are refreshed until one week after their expiry,
 * because a late payment is credited. The pause grows with the time since expiry.
 *
 * Credited orders that can receive more money are also refreshed for one week: the excess is not credited, but an operator must
 * see it (docs/reference/reseller.md#d8). These refreshes are not urgent: the pause grows from one minute to six hours, for
 * about fifty refreshes in total.
 */
import { canReceiveMore } from "./PaymentMethod.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

const MIN_PAUSE_MILLIS = 30_000
const MAX_PAUSE_MILLIS = 3_600_000
const REFRESHED_FOR_MILLIS = 7 * 24 * 3_600_000
/** The pause is the time since expiry divided by this number: six minutes at one hour after expiry. */
const PAUSES_PER_AGE = 10

const CREDITED_MIN_PAUSE_MILLIS = 60_000
const CREDITED_MAX_PAUSE_MILLIS = 6 * 3_600_000
/** The pause is the time since crediting divided by this number: 15 minutes at one hour after crediting. */
const CREDITED_PAUSES_PER_AGE = 4

type Refreshed = Pick<TopUpOrder, "method" | "status" | "expiresAt" | "creditedAt">

/** Returns the time of the first refresh of an order that was opened at `now`. */
export const firstRefreshAt = (now: Date): Date => after(now, MIN_PAUSE_MILLIS)

/** Returns the time of the next refresh after a refresh at `now`; undefined when refreshes end. */
export const nextRefreshAt = ({ method, status, expiresAt, creditedAt }: Refreshed, now: Date): Date | undefined => {
  if (status === "credited") {
    const creditedForMillis = now.getTime() - (creditedAt ?? now).getTime()
    if (!canReceiveMore(method) || creditedForMillis > REFRESHED_FOR_MILLIS) return undefined
    const pause = creditedForMillis / CREDITED_PAUSES_PER_AGE
    return after(now, Math.min(CREDITED_MAX_PAUSE_MILLIS, Math.max(CREDITED_MIN_PAUSE_MILLIS, pause)))
  }
  const expiredForMillis = now.getTime() - expiresAt.getTime()
  const closed = status === "expired" || status === "failed"
  if (closed && expiredForMillis > REFRESHED_FOR_MILLIS) return undefined
  const pause = status === "crediting" ? MIN_PAUSE_MILLIS : expiredForMillis / PAUSES_PER_AGE
  return after(now, Math.min(MAX_PAUSE_MILLIS, Math.max(MIN_PAUSE_MILLIS, pause)))
}

const after = (time: Date, millis: number): Date => new Date(time.getTime() + millis)
