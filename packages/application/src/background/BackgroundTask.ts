/**
 * Something a node does over and over: a round that fails is logged, and the next one tries again.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/** Never ends; interrupt it to stop. `trouble` is logged when a round fails. */
export const every = <R>(interval: Duration.DurationInput, trouble: string, round: Effect.Effect<unknown, never, R>) =>
  round.pipe(
    Effect.catchAllCause((cause) => Effect.logError(trouble, cause)),
    Effect.repeat(Schedule.spaced(interval))
  )
