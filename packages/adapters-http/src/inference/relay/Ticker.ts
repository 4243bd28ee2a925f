/**
 * `Ticker` is one timer for all running attempts of the relay. At every tick, each attempt checks its timeouts, and an
 * attempt for a stream also checks whether a keepalive is due. A separate timer for each attempt would cost too much.
 */
import { type Indexed, IndexedSet } from "@tollgate/application/inference/IndexedSet"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Tickable extends Indexed {
  readonly onTick: (nowMillis: number) => void
}

export class Ticker extends IndexedSet<Tickable> {
  tick(nowMillis: number): void {
    this.each((tickable) => tickable.onTick(nowMillis))
  }
}

export const make = (everyMillis: number): Effect.Effect<Ticker, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ticker = new Ticker()
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(() => ticker.tick(performance.now()), everyMillis).unref()),
      (timer) =>
        Effect.sync(() => {
          clearInterval(timer)
          // This is the last tick, so every timeout expires now.
          ticker.tick(Number.POSITIVE_INFINITY)
        })
    )
    return ticker
  })
