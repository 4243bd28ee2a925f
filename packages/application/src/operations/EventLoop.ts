/**
 * Yields to the event loop between the parts of a long computation.
 *
 * `Effect.yieldNow` lets other fibers run, but no socket is served meanwhile. This effect continues in a later turn of the
 * event loop, after ready sockets and timers were served. An interruption cancels the wait.
 */
import * as Effect from "effect/Effect"

export const yieldToEventLoop: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
