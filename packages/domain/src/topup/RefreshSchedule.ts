/**
 * The schedule of background refreshes of an order (docs/reference/reseller.md#d10).
 *
 * Open orders are refreshed until they close, expired and failed ones for a week more, because a late payment is credited.
 * The longer an order is past its expiry, the longer the pause.
 *
 * Credited orders are refreshed for a week too, when more can arrive for them: it is not credited, but an operator must see
 * it (docs/reference/reseller.md#d8). The pause grows from a minute to six hours, some fifty refreshes in all, because
 * it is not urgent.
 */
import { canReceiveMore } from "./PaymentMethod.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

const MIN_PAUSE_MILLIS = 30_000
const MAX_PAUSE_MILLIS = 3_600_000
const REFRESHED_FOR_MILLIS = 7 * 24 * 3_600_000
/** The pause is this fraction of the time since expiry: an hour after it, six minutes. */
const PAUSES_PER_AGE = 10

const CREDITED_MIN_PAUSE_MILLIS = 60_000
const CREDITED_MAX_PAUSE_MILLIS = 6 * 3_600_000
/** The pause is this fraction of the time since crediting: an hour after it, a quarter of an hour. */
const CREDITED_PAUSES_PER_AGE = 4

type Refreshed = Pick<TopUpOrder, "method" | "status" | "expiresAt" | "creditedAt">

/** The first refresh of an order that was opened at `now`. */
export const firstRefreshAt = (now: Date): Date => after(now, MIN_PAUSE_MILLIS)

/** The next refresh after one at `now`; undefined when there is none. */
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
