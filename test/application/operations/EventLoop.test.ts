import { yieldToEventLoop } from "@tollgate/application/operations/EventLoop"
import { Effect, Fiber } from "effect"
import { expect, it } from "vitest"

/** Returns for each of three computations the turn of the event loop in which it continues. */
const turnsOfThree = async (): Promise<ReadonlyArray<number>> => {
  let turn = 0
  const nextTurn = () => {
    turn++
    clock = setImmediate(nextTurn)
  }
  let clock = setImmediate(nextTurn)
  const waiting = Effect.map(yieldToEventLoop, () => turn)
  const turns = await Promise.all([1, 2, 3].map(() => Effect.runPromise(waiting)))
  clearImmediate(clock)
  return turns
}

it("three computations continue in three turns of the event loop", async () => {
  expect(await turnsOfThree()).toEqual([1, 2, 3])
})

it("three computations continue in three turns after an interruption of an earlier computation", async () => {
  const earlier = Effect.runFork(yieldToEventLoop)
  await Effect.runPromise(Fiber.interrupt(earlier))
  expect(new Set(await turnsOfThree()).size).toBe(3)
})
