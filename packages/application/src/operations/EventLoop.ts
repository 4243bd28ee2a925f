/**
 * Yields to the event loop between the parts of a long computation.
 *
 * `Effect.yieldNow` lets other fibers run, but no socket is served meanwhile. `yieldToEventLoop` ends after the event
 * loop has served the ready sockets. One computation continues in each turn of the event loop, in the order of the
 * calls. Many long computations together therefore delay a turn no longer than one computation does. An interruption
 * cancels the wait.
 */
import * as Effect from "effect/Effect"

/** The time in milliseconds after which a long computation should yield. */
export const TURN_MILLIS = 2

const waiting = new Set<() => void>()
/**
 * True while a call of `continueNext` is scheduled. It stays true if the only waiting computation is interrupted.
 * Otherwise the next computation would schedule a second call, and one turn would continue two computations.
 */
let isScheduled = false

const schedule = () => {
  isScheduled = true
  setImmediate(continueNext)
}

const continueNext = () => {
  const [next] = waiting
  if (next !== undefined) waiting.delete(next)
  if (waiting.size > 0) schedule()
  else isScheduled = false
  next?.()
}

export const yieldToEventLoop: Effect.Effect<void> = Effect.async((resume) => {
  const next = () => resume(Effect.void)
  waiting.add(next)
  if (!isScheduled) schedule()
  return Effect.sync(() => waiting.delete(next))
})
