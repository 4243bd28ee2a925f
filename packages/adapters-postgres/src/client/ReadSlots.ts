/**
 * Limits how many reads of long histories run concurrently, so that these reads leave most connections of the pool to
 * other statements. A read waits for a slot. The reads of one caller use at most half of the slots, rounded up, so that
 * a caller with slow reads does not delay the others. A read is refused if too many reads run or wait, of all callers
 * together or of its own caller.
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
  const shares = new Map<string, { readonly slots: FifoSemaphore; reads: number }>()
  const shareOf = (caller: string) => {
    const share = shares.get(caller) ?? { slots: new FifoSemaphore(Math.ceil(running / 2)), reads: 0 }
    shares.set(caller, share)
    return share
  }
  return {
    run: <A, E, R>(caller: string, read: Effect.Effect<A, E, R>) =>
      // An interruption between `begin` and `ensuring` would leave the read counted for ever.
      Effect.uninterruptibleMask((restore): Effect.Effect<A, E | Overloaded, R> => {
        if (limit.isReachedBy(caller)) return Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))
        limit.begin(caller)
        const share = shareOf(caller)
        share.reads += 1
        return Effect.ensuring(
          restore(share.slots.withPermit(slots.withPermit(read))),
          Effect.sync(() => {
            limit.end(caller)
            share.reads -= 1
            if (share.reads === 0) shares.delete(caller)
          })
        )
      })
  }
}
