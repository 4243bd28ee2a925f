/**
 * A sliding-window rate limit allows at most `max` events in any interval of `windowMillis`. The limit is exact,
 * because the time of each event is stored instead of a counter per minute.
 *
 * An event (a hit) counts until it is older than the window. A hit in the future counts too, because the clocks of two
 * nodes differ slightly. A hit that is further in the future than the duration of the window does not count: it shows
 * that the clock was set back.
 */
import * as Either from "effect/Either"
import { RateLimited, retryAfterSecondsOf } from "../validation/RequestErrors.ts"

export interface Limit {
  readonly max: number
  readonly windowMillis: number
}

/** Returns the hits that count at `now`, oldest first. */
const countedHits = (hits: ReadonlyArray<Date>, { windowMillis }: Limit, now: Date): ReadonlyArray<Date> =>
  hits
    .filter((hit) => Math.abs(now.getTime() - hit.getTime()) <= windowMillis)
    .sort((a, b) => a.getTime() - b.getTime())

/** Returns the hits to store if a hit at `now` is allowed, otherwise `RateLimited`. A refused hit is not stored. */
export const decideHit = (
  hits: ReadonlyArray<Date>,
  limit: Limit,
  now: Date
): Either.Either<ReadonlyArray<Date>, RateLimited> => {
  const counted = countedHits(hits, limit, now)
  const blocking = counted[counted.length - limit.max]
  if (blocking === undefined) return Either.right([...counted, now])
  const freeInMillis = blocking.getTime() + limit.windowMillis + 1 - now.getTime()
  return Either.left(new RateLimited({ retryAfterSeconds: retryAfterSecondsOf(freeInMillis) }))
}
