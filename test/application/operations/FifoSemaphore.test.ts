import { describe, expect, it } from "@effect/vitest"
import { FifoSemaphore } from "@tollgate/application/operations/FifoSemaphore"
import { Deferred, Effect, Exit, FastCheck, Fiber } from "effect"

/** Lets all fibers run until they wait. */
const settled = Effect.yieldNow({ priority: 1_000 })

describe("a FIFO semaphore", () => {
  it.effect("gives each released permit to the fiber that has waited longest", () =>
    Effect.gen(function* () {
      const semaphore = new FifoSemaphore(1)
      yield* semaphore.take
      const order: Array<number> = []
      const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.fork(semaphore.withPermit(Effect.sync(() => order.push(n))))
      )
      yield* settled
      expect(order).toEqual([])
      yield* semaphore.release
      yield* Fiber.joinAll(fibers)
      expect(order).toEqual([1, 2, 3])
    })
  )

  it.effect("resumes only one waiting fiber for each released permit", () =>
    Effect.gen(function* () {
      const semaphore = new FifoSemaphore(1)
      yield* semaphore.take
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(semaphore.take))
      yield* settled
      yield* semaphore.release
      yield* settled
      const ended = yield* Effect.forEach(fibers, (fiber) => Effect.map(Fiber.poll(fiber), (exit) => exit._tag))
      expect(ended).toEqual(["Some", "None", "None"])
      yield* Fiber.interruptAll(fibers)
    })
  )

  it.effect("releases the permit if the work fails or is interrupted", () =>
    Effect.gen(function* () {
      const semaphore = new FifoSemaphore(1)
      expect(Exit.isFailure(yield* Effect.exit(semaphore.withPermit(Effect.fail("no"))))).toBe(true)
      const started = yield* Deferred.make<void>()
      const work = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.fork(semaphore.withPermit(work))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* semaphore.withPermit(Effect.void)
    })
  )

  it.effect("loses no permit when fibers are interrupted", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.integer({ min: 1, max: 3 }),
          FastCheck.array(
            FastCheck.record({
              turnsOfWork: FastCheck.nat(5),
              turnsBeforeNext: FastCheck.nat(3),
              isInterrupted: FastCheck.boolean()
            }),
            {
              minLength: 1,
              maxLength: 12
            }
          ),
          async (permits, fibers) => {
            const semaphore = new FifoSemaphore(permits)
            let [held, most] = [0, 0]
            const turns = (count: number) => Effect.repeatN(Effect.yieldNow(), count)
            const work = (count: number) =>
              Effect.acquireUseRelease(
                Effect.sync(() => {
                  held += 1
                  most = Math.max(most, held)
                }),
                () => turns(count),
                () =>
                  Effect.sync(() => {
                    held -= 1
                  })
              )
            const history = Effect.gen(function* () {
              const forked = yield* Effect.forEach(fibers, ({ turnsOfWork, turnsBeforeNext, isInterrupted }) =>
                Effect.gen(function* () {
                  const fiber = yield* Effect.fork(semaphore.withPermit(work(turnsOfWork)))
                  yield* turns(turnsBeforeNext)
                  if (isInterrupted) yield* Fiber.interruptFork(fiber)
                  return fiber
                })
              )
              yield* Effect.forEach(forked, Fiber.await)
              yield* Effect.forEach(Array(permits).fill(0), () => semaphore.take)
            })
            await Effect.runPromise(Effect.timeout(history, "15 seconds"))
            expect(most).toBeLessThanOrEqual(permits)
          }
        )
      )
    )
  )
})
