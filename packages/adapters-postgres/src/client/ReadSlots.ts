/**
 * Limits how many reads of long histories run concurrently, so that these reads leave most connections of the pool to
 * other statements. A read waits for a slot. It is refused if too many reads run or wait, of all callers together or of
 * its own caller.
 */
import { CallerLimit, type CallerLimitOptions } from "@tollgate/application/operations/CallerLimit"
import { FifoSemaphore } from "@tollgate/application/operations/FifoSemaphore"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"

/** `total` and `perCaller` count the reads that run or wait. */
export interface ReadSlotsOptions extends CallerLimitOptions {
  readonly running: number
}

export interface ReadSlots {
  readonly run: <A, E, R>(caller: string, read: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
}

export const make = ({ running, ...limits }: ReadSlotsOptions): ReadSlots => {
  const slots = new FifoSemaphore(running)
  const limit = new CallerLimit(limits)
  return {
    run: <A, E, R>(caller: string, read: Effect.Effect<A, E, R>) =>
      // An interruption between `begin` and `ensuring` would leave the read counted for ever.
      Effect.uninterruptibleMask((restore): Effect.Effect<A, E | Overloaded, R> => {
        if (limit.isReachedBy(caller)) return Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))
        limit.begin(caller)
        return Effect.ensuring(
          restore(slots.withPermit(read)),
          Effect.sync(() => limit.end(caller))
        )
      })
  }
}
