/**
 * The one timer of all open requests: at every tick each of them looks at the clock itself, for keepalives and
 * timeouts. A timer for each would cost more than the requests do.
 */
import { IndexedSet, type Member } from "@tollgate/application/inference/IndexedSet"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Swept extends Member {
  readonly sweep: (nowMillis: number) => void
}

export class Sweep extends IndexedSet<Swept> {
  tick(nowMillis: number): void {
    this.each((swept) => swept.sweep(nowMillis))
  }
}

export const make = (everyMillis: number): Effect.Effect<Sweep, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sweep = new Sweep()
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(() => sweep.tick(performance.now()), everyMillis).unref()),
      (timer) =>
        Effect.sync(() => {
          clearInterval(timer)
          // Nobody looks at the clock any more: whatever is still waiting has waited long enough.
          sweep.tick(Number.POSITIVE_INFINITY)
        })
    )
    return sweep
  })
