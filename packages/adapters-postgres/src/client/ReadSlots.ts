/**
 * Limits the number of concurrent reads that can be long, so that they leave most connections of the pool to other
 * statements. Reads wait for a slot. A read is refused if too many reads wait, of all callers or of its own caller.
 */
import { FifoSemaphore } from "@tollgate/application/operations/FifoSemaphore"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"

export interface ReadSlotsOptions {
  readonly running: number
  /** Maximum number of reads that run or wait. */
  readonly total: number
  /** Maximum number of reads of one caller that run or wait. */
  readonly perCaller: number
}

export interface ReadSlots {
  readonly run: <A, E, R>(caller: string, read: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
}

export const make = ({ running, total, perCaller }: ReadSlotsOptions): ReadSlots => {
  const slots = new FifoSemaphore(running)
  const counts = new Map<string, number>()
  let all = 0
  const add = (caller: string, change: 1 | -1): void => {
    const count = (counts.get(caller) ?? 0) + change
    if (count === 0) counts.delete(caller)
    else counts.set(caller, count)
    all += change
  }
  return {
    run: <A, E, R>(caller: string, read: Effect.Effect<A, E, R>) =>
      Effect.suspend((): Effect.Effect<A, E | Overloaded, R> => {
        if (all >= total || (counts.get(caller) ?? 0) >= perCaller) {
          return Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))
        }
        add(caller, 1)
        return Effect.ensuring(
          slots.withPermit(read),
          Effect.sync(() => add(caller, -1))
        )
      })
  }
}
