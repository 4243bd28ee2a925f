/**
 * Yields to the event loop between the parts of a long computation.
 *
 * `Effect.yieldNow` lets other fibers run, but no socket is served meanwhile. This effect continues in a later turn of
 * the event loop, after ready sockets and timers were served. One computation continues in each turn, in the order of
 * the calls. Many long computations together therefore delay a turn no longer than one computation does. An
 * interruption cancels the wait.
 */
import * as Effect from "effect/Effect"

/** The time in milliseconds after which a long computation should yield. */
export const TURN_MILLIS = 2

const waiting = new Set<() => void>()

const continueNext = () => {
  const [next] = waiting
  if (next === undefined) return
  waiting.delete(next)
  if (waiting.size > 0) setImmediate(continueNext)
  next()
}

export const yieldToEventLoop: Effect.Effect<void> = Effect.async((resume) => {
  const next = () => resume(Effect.void)
  waiting.add(next)
  if (waiting.size === 1) setImmediate(continueNext)
  return Effect.sync(() => waiting.delete(next))
})
