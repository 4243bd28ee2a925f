import { describe, expect, it } from "@effect/vitest"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"

const full = Effect.fail("full")

/** Lets other fibers run until all of them wait. */
const started = TestClock.adjust("1 millis")

/** At most two executions run concurrently. `slow` takes one second and returns the number of its call. */
const aFlight = Effect.map(SingleFlight.make<string, number, string>(2), (flight) => {
  const count = { started: 0 }
  const slow = () => Effect.delay(Effect.succeed(++count.started), "1 second")
  return { flight, count, slow }
})

describe("single-flight", () => {
  it.scoped("runs one execution for fifty concurrent callers with one key", () =>
    Effect.gen(function* () {
      const { flight, count, slow } = yield* aFlight
      const calls = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 50 }, () => flight.run("a", slow, full)),
          { concurrency: "unbounded" }
        )
      )
      yield* TestClock.adjust("1 second")
      expect(new Set(yield* Fiber.join(calls))).toEqual(new Set([1]))
      const next = yield* Effect.fork(flight.run("a", slow, full))
      yield* TestClock.adjust("1 second")
      expect([yield* Fiber.join(next), count.started]).toEqual([2, 2])
    })
  )

  it.scoped("continues for the other callers after the first caller is interrupted", () =>
    Effect.gen(function* () {
      const { flight, slow } = yield* aFlight
      const first = yield* Effect.fork(flight.run("a", slow, full))
      yield* started
      const second = yield* Effect.fork(flight.run("a", slow, full))
      yield* started
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(second)).toBe(1)
    })
  )

  it.scoped("returns a failure or an exception to both waiting callers", () =>
    Effect.gen(function* () {
      const { flight, slow } = yield* aFlight
      for (const failure of [Effect.fail("refused"), Effect.die("a bug")]) {
        const failing = () => Effect.zipRight(Effect.sleep("1 second"), failure)
        const calls = yield* Effect.fork(
          Effect.all([flight.run("a", failing, full), flight.run("a", slow, full)].map(Effect.exit), {
            concurrency: "unbounded"
          })
        )
        yield* TestClock.adjust("1 second")
        const exits = yield* Fiber.join(calls)
        expect(exits.map(Exit.isFailure)).toEqual([true, true])
        expect(flight.running("a")).toBeUndefined()
      }
    })
  )

  it.scoped("refuses a new key at the limit", () =>
    Effect.gen(function* () {
      const { flight, slow } = yield* aFlight
      const calls = yield* Effect.fork(
        Effect.all([flight.run("a", slow, full), flight.run("b", slow, full)], { concurrency: "unbounded" })
      )
      yield* started
      expect(yield* Effect.flip(flight.run("c", slow, full))).toBe("full")
      const joined = yield* Effect.fork(flight.run("b", slow, full))
      yield* TestClock.adjust("1 second")
      expect([...(yield* Fiber.join(calls)), yield* Fiber.join(joined)]).toEqual([1, 2, 2])
    })
  )

  it.scoped("starts another execution after the running one has called `leave`", () =>
    Effect.gen(function* () {
      const { flight, slow } = yield* aFlight
      const left = yield* Deferred.make<void>()
      const leaving = (leave: Effect.Effect<void>) =>
        leave.pipe(
          Effect.zipRight(Deferred.succeed(left, undefined)),
          Effect.zipRight(Effect.delay(Effect.succeed(7), "1 second"))
        )
      const first = yield* Effect.fork(flight.run("a", leaving, full))
      yield* Deferred.await(left)
      yield* TestClock.adjust("500 millis")
      const second = yield* Effect.fork(flight.run("a", slow, full))
      yield* TestClock.adjust("500 millis")
      // The end of the first execution does not remove the second execution.
      expect(flight.running("a")).toBeDefined()
      yield* TestClock.adjust("500 millis")
      expect([yield* Fiber.join(first), yield* Fiber.join(second)]).toEqual([7, 1])
    })
  )

  it.effect("interrupts its running executions if its scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { flight } = yield* Scope.extend(aFlight, scope)
      const call = yield* Effect.fork(flight.run("a", () => Effect.never, full))
      yield* started
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isInterrupted(yield* Fiber.await(call))).toBe(true)
      expect(flight.running("a")).toBeUndefined()
    })
  )
})
