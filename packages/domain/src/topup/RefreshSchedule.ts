/**
 * When an order is to be looked at again without anybody asking (gap D10).
 *
 * Open orders always, expired and failed ones for a week more, because a late payment credits; and the longer an order
 * is past its expiry, the less often.
 *
 * Credited ones for a week too, where more can come for them: nothing more is credited, but somebody has to see it (gap
 * D8). After a minute at first and after six hours at last, some fifty times in all, because nobody waits for it.
 */
import { canReceiveMore } from "./PaymentMethod.ts"
import type { TopUpOrder } from "./TopUpOrder.ts"

const SHORTEST_MILLIS = 30_000
const LONGEST_MILLIS = 3_600_000
const REMEMBERED_MILLIS = 7 * 24 * 3_600_000
/** An order that expired an hour ago is looked at every six minutes. */
const PATIENCE = 10

const CREDITED_SHORTEST_MILLIS = 60_000
const CREDITED_LONGEST_MILLIS = 6 * 3_600_000
/** An order that was credited an hour ago is looked at every quarter of an hour. */
const CREDITED_PATIENCE = 4

type Watched = Pick<TopUpOrder, "method" | "status" | "expiresAt" | "creditedAt">

/** Of an order that was opened at `now`. */
export const firstRefreshAt = (now: Date): Date => after(now, SHORTEST_MILLIS)

/** After a look at `now`; never again is undefined. */
export const nextRefreshAt = ({ method, status, expiresAt, creditedAt }: Watched, now: Date): Date | undefined => {
  if (status === "credited") {
    const creditedForMillis = now.getTime() - (creditedAt ?? now).getTime()
    if (!canReceiveMore(method) || creditedForMillis > REMEMBERED_MILLIS) return undefined
    const pause = creditedForMillis / CREDITED_PATIENCE
    return after(now, Math.min(CREDITED_LONGEST_MILLIS, Math.max(CREDITED_SHORTEST_MILLIS, pause)))
  }
  const expiredForMillis = now.getTime() - expiresAt.getTime()
  const closed = status === "expired" || status === "failed"
  if (closed && expiredForMillis > REMEMBERED_MILLIS) return undefined
  const pause = status === "crediting" ? SHORTEST_MILLIS : expiredForMillis / PATIENCE
  return after(now, Math.min(LONGEST_MILLIS, Math.max(SHORTEST_MILLIS, pause)))
}

const after = (time: Date, millis: number): Date => new Date(time.getTime() + millis)
