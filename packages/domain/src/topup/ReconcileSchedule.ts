/**
 * When an order is to be looked at again without anybody asking (gap D10).
 *
 * Open orders always, expired and failed ones for a week more, because a late payment credits; and the longer an order
 * is past its expiry, the less often.
 */
import type { TopUpOrder } from "./TopUpOrder.ts"

const SHORTEST_MILLIS = 30_000
const LONGEST_MILLIS = 3_600_000
const REMEMBERED_MILLIS = 7 * 24 * 3_600_000
/** An order that expired an hour ago is looked at every six minutes. */
const PATIENCE = 10

/** After a look at `now`; never again is undefined. */
export const nextLookAt = (
  { status, expiresAt }: Pick<TopUpOrder, "status" | "expiresAt">,
  now: Date
): Date | undefined => {
  const expiredForMillis = now.getTime() - expiresAt.getTime()
  const closed = status === "expired" || status === "failed"
  if (status === "credited" || (closed && expiredForMillis > REMEMBERED_MILLIS)) return undefined
  const pause = status === "crediting" ? SHORTEST_MILLIS : expiredForMillis / PATIENCE
  return new Date(now.getTime() + Math.min(LONGEST_MILLIS, Math.max(SHORTEST_MILLIS, pause)))
}
