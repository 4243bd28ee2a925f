/**
 * A sliding-window rate limit: at most `max` events in any interval of `windowMillis`, exactly. The times of the events are
 * kept instead of a counter per minute.
 *
 * An event counts as long as it is not older than the window; a time in the future (clock skew) counts too.
 */
import * as Either from "effect/Either"
import { RateLimited, retryAfterSecondsOf } from "../validation/RequestErrors.ts"

export interface Limit {
  readonly max: number
  readonly windowMillis: number
}

/** The hits that still count, oldest first. */
export const counting = (hits: ReadonlyArray<Date>, { windowMillis }: Limit, now: Date): ReadonlyArray<Date> =>
  hits.filter((hit) => now.getTime() - hit.getTime() <= windowMillis).sort((a, b) => a.getTime() - b.getTime())

/** The hits to keep when this one is allowed; a refused hit does not count. */
export const decideHit = (
  hits: ReadonlyArray<Date>,
  limit: Limit,
  now: Date
): Either.Either<ReadonlyArray<Date>, RateLimited> => {
  const counted = counting(hits, limit, now)
  const blocking = counted[counted.length - limit.max]
  if (blocking === undefined) return Either.right([...counted, now])
  const freeInMillis = blocking.getTime() + limit.windowMillis + 1 - now.getTime()
  return Either.left(new RateLimited({ retryAfterSeconds: retryAfterSecondsOf(freeInMillis) }))
}
