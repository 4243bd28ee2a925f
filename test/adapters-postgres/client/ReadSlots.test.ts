import { describe, expect, it } from "@effect/vitest"
import * as ReadSlots from "@tollgate/adapters-postgres/client/ReadSlots"
import { Deferred, Effect, Either, Fiber } from "effect"

describe("read slots", () => {
  it.effect("refuse reads beyond a limit per caller and in total", () =>
    Effect.gen(function* () {
      const { run } = ReadSlots.make({ running: 2, total: 4, perCaller: 3 })
      const gate = yield* Deferred.make<void>()
      let [running, most] = [0, 0]
      const read = Effect.gen(function* () {
        running += 1
        most = Math.max(most, running)
        yield* Deferred.await(gate)
        running -= 1
      })
      const fibers = yield* Effect.forEach(["a", "a", "a"], (caller) => Effect.fork(run(caller, read)))
      yield* Effect.yieldNow()
      const refused = (caller: string) => Effect.map(Effect.either(run(caller, Effect.void)), Either.isLeft)
      expect(yield* refused("a")).toBe(true)
      const other = yield* Effect.fork(run("b", read))
      yield* Effect.yieldNow()
      expect(yield* refused("c")).toBe(true)
      yield* Fiber.interrupt(other)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.joinAll(fibers)
      expect(most).toBe(2)
      expect([yield* refused("a"), yield* refused("c")]).toEqual([false, false])
    })
  )
})
