/**
 * Schedules the background refreshes of an order (docs/reference/reseller.md#d10).
 *
 * An order is refreshed while it is pending or crediting. An expired or failed order is refreshed until one week after
 * its expiry, because a late payment is credited. The pause between two refreshes is 30 seconds. After the expiry the
 * pause grows, up to one hour, unless the order is crediting.
 *
 * A credited order that can receive more money is refreshed until one week after its credit. The excess money is not
 * credited, but an operator must see it (docs/reference/reseller.md#d8). These refreshes are not urgent: the pause
 * grows from one minute to six hours, which makes about fifty refreshes in total.
 */
import { canReceiveMore } from "./PaymentMethod.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

const MIN_PAUSE_MILLIS = 30_000
const MAX_PAUSE_MILLIS = 3_600_000
const REFRESHED_FOR_MILLIS = 7 * 24 * 3_600_000
/** The pause is the time since expiry divided by this number: six minutes at one hour after expiry. */
const PAUSE_AGE_DIVISOR = 10

const CREDITED_MIN_PAUSE_MILLIS = 60_000
const CREDITED_MAX_PAUSE_MILLIS = 6 * 3_600_000
/** The pause is the time since crediting divided by this number: 15 minutes at one hour after crediting. */
const CREDITED_PAUSE_AGE_DIVISOR = 4

type ScheduledOrder = Pick<TopUpOrder, "method" | "status" | "expiresAt" | "creditedAt">

/** Returns the time of the first refresh of an order that was opened at `now`. */
export const firstRefreshAt = (now: Date): Date => after(now, MIN_PAUSE_MILLIS)

/** Returns the time of the next refresh after a refresh at `now`; undefined if there is no further refresh. */
export const nextRefreshAt = (
  { method, status, expiresAt, creditedAt }: ScheduledOrder,
  now: Date
): Date | undefined => {
  if (status === "credited") {
    const creditedForMillis = now.getTime() - (creditedAt ?? now).getTime()
    if (!canReceiveMore(method) || creditedForMillis > REFRESHED_FOR_MILLIS) return undefined
    const pause = creditedForMillis / CREDITED_PAUSE_AGE_DIVISOR
    return after(now, Math.min(CREDITED_MAX_PAUSE_MILLIS, Math.max(CREDITED_MIN_PAUSE_MILLIS, pause)))
  }
  const expiredForMillis = now.getTime() - expiresAt.getTime()
  const closed = status === "expired" || status === "failed"
  if (closed && expiredForMillis > REFRESHED_FOR_MILLIS) return undefined
  const pause = status === "crediting" ? MIN_PAUSE_MILLIS : expiredForMillis / PAUSE_AGE_DIVISOR
  return after(now, Math.min(MAX_PAUSE_MILLIS, Math.max(MIN_PAUSE_MILLIS, pause)))
}

const after = (time: Date, millis: number): Date => new Date(time.getTime() + millis)
