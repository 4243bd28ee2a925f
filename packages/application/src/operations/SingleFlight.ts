/**
 * Single-flight: concurrent callers with the same key share one execution. An execution can run the effect `leave` to
 * stop the sharing: later callers then start another execution. The number of executions that have not run `leave` is
 * limited.
 *
 * An execution runs in the scope and context in which the single-flight was made, not in the scope and context of a
 * caller. If a caller is interrupted, the execution continues, even if no caller waits any more.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"

export interface SingleFlight<K, A, E, R> {
  /**
   * Waits for the running execution of this key, or starts an execution. If the limit is reached, runs `whenFull`
   * instead of a new execution.
   */
  readonly run: (
    key: K,
    execution: (leave: Effect.Effect<void>) => Effect.Effect<A, E, R>,
    whenFull: Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
  /** Returns an effect that waits for the running execution of this key; undefined if no execution can be joined. */
  readonly running: (key: K) => Effect.Effect<A, E> | undefined
}

export const make = <K, A, E = never, R = never>(
  maxConcurrent: number
): Effect.Effect<SingleFlight<K, A, E, R>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const own = yield* Effect.context<R>()
    const flights = new Map<K, Deferred.Deferred<A, E>>()

    const running = (key: K) => {
      const flight = flights.get(key)
      return flight === undefined ? undefined : Deferred.await(flight)
    }

    return {
      running,
      run: (key, execution, whenFull) =>
        Effect.uninterruptibleMask((restore) => {
          const current = running(key)
          if (current !== undefined) return restore(current)
          if (flights.size >= maxConcurrent) return restore(whenFull)
          // The code from the lookup above to this entry is synchronous, so that no other fiber can run in between.
          const flight = Deferred.unsafeMake<A, E>(FiberId.none)
          flights.set(key, flight)
          const leave = Effect.sync(() => {
            if (flights.get(key) === flight) flights.delete(key)
          })
          return Effect.interruptible(execution(leave)).pipe(
            Effect.ensuring(leave),
            Effect.intoDeferred(flight),
            Effect.mapInputContext((_: Context.Context<never>) => own),
            Effect.forkIn(scope),
            Effect.zipRight(restore(Deferred.await(flight)))
          )
        })
    }
  })
