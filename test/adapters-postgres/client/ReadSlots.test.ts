import { describe, expect, it } from "@effect/vitest"
import * as ReadSlots from "@tollgate/adapters-postgres/client/ReadSlots"
import { Deferred, Effect, Either, Exit, Fiber, Option, Scheduler } from "effect"

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

  it.effect("are given to the slow reads of one caller only up to half", () =>
    Effect.gen(function* () {
      const { run } = ReadSlots.make({ running: 4, total: 20, perCaller: 8 })
      let slow = 0
      const slowRead = Effect.zipRight(
        Effect.sync(() => {
          slow += 1
        }),
        Effect.never
      )
      const fibers = yield* Effect.forEach(Array.from({ length: 8 }), () => Effect.fork(run("a", slowRead)))
      yield* Effect.yieldNow()
      const other = yield* Effect.fork(run("b", Effect.succeed("read")))
      yield* Effect.yieldNow()
      expect(yield* Fiber.poll(other)).toEqual(Option.some(Exit.succeed("read")))
      expect(slow).toBe(2)
      yield* Fiber.interruptAll(fibers)
      expect(yield* Effect.either(run("a", Effect.succeed("read")))).toEqual(Either.right("read"))
    })
  )

  it.effect("are free again after a read is interrupted at any step", () =>
    Effect.gen(function* () {
      const { run } = ReadSlots.make({ running: 1, total: 1, perCaller: 1 })
      for (let last = 1; last <= 60; last++) {
        let steps = 0
        // After its last step, the fiber lets other fibers run, and is interrupted.
        const scheduler: Scheduler.Scheduler = {
          shouldYield: () => (++steps === last ? 0 : false),
          scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
        }
        const reading = yield* Effect.fork(Effect.withScheduler(run("a", Effect.never), scheduler))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(reading)
        expect(yield* Effect.either(run("a", Effect.succeed("read"))), `step ${last}`).toEqual(Either.right("read"))
      }
    })
  )
})
