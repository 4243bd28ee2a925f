/**
 * "At most so many in any so many milliseconds", exactly: the instants themselves are kept, no counter per minute.
 *
 * An instant counts as long as it is not more than the window ago; one that seems to lie ahead (clocks) counts too.
 */
import * as Either from "effect/Either"
import { RateLimited } from "../validation/RequestErrors.ts"

export interface Limit {
  readonly most: number
  readonly windowMillis: number
}

/** Those of the hits that still count, oldest first. */
export const counting = (hits: ReadonlyArray<Date>, { windowMillis }: Limit, now: Date): ReadonlyArray<Date> =>
  hits.filter((hit) => now.getTime() - hit.getTime() <= windowMillis).sort((a, b) => a.getTime() - b.getTime())

/** The hits to keep when this one is allowed; a refused one does not count. */
export const decideHit = (
  hits: ReadonlyArray<Date>,
  limit: Limit,
  now: Date
): Either.Either<ReadonlyArray<Date>, RateLimited> => {
  const counted = counting(hits, limit, now)
  const inTheWay = counted[counted.length - limit.most]
  if (inTheWay === undefined) return Either.right([...counted, now])
  const freeInMillis = inTheWay.getTime() + limit.windowMillis + 1 - now.getTime()
  return Either.left(new RateLimited({ retryAfterSeconds: Math.ceil(freeInMillis / 1_000) }))
}
