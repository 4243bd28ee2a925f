/**
 * A computation over a body, in slices: a generator that yields between two slices. For a body of at most one slice,
 * the generator never yields, so the computation ends in the same turn of the event loop.
 */
import { TURN_MILLIS, yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import * as Effect from "effect/Effect"

export type Slices<A> = Generator<void, A, void>

/** Runs all slices without a pause. */
export const runSlices = <A>(slices: Slices<A>): A => {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}

/**
 * Runs the slices in turns, so that the event loop serves other requests in between. The effect is interrupted when
 * `isOver` returns true at the beginning of a turn after the first.
 */
export const inTurns = <A>(slices: Slices<A>, isOver: () => boolean = () => false): Effect.Effect<A> =>
  Effect.gen(() => runInTurns(slices, isOver))

// A generator function inside `inTurns` would keep every request in memory (docs/adr/0016-short-lived-requests.md).
function* runInTurns<A>(slices: Slices<A>, isOver: () => boolean) {
  for (;;) {
    const turnSince = performance.now()
    do {
      const step = slices.next()
      if (step.done === true) return step.value
    } while (performance.now() - turnSince < TURN_MILLIS)
    yield* yieldToEventLoop
    if (isOver()) return yield* Effect.interrupt
  }
}
