/**
 * Replaces the timers, clocks and random numbers of Node.js that the simulated code uses, while a history is simulated.
 *
 * A call outside an event of a simulated process uses the real function, so the test runner is not disturbed.
 */
import { createRequire, syncBuiltinESMExports } from "node:module"
import { Event, type SimulatedTime } from "./SimulatedTime.ts"

const require = createRequire(import.meta.url)
const timersPromises = require("node:timers/promises") as { setTimeout: unknown }
const crypto = require("node:crypto") as { randomInt: unknown }

interface Replacement {
  readonly owner: object
  readonly name: string
  readonly replace: (real: Function) => unknown
}

type Function = (...values: ReadonlyArray<never>) => unknown
type Simulated = (time: SimulatedTime, ...values: ReadonlyArray<never>) => unknown

/** Runs `body` with functions that read this time. The functions are restored afterwards. */
export const withSimulatedTime = async <A>(times: { current: SimulatedTime }, body: () => Promise<A>): Promise<A> => {
  const replaced: ReadonlyArray<Replacement> = [
    timer(globalThis, "setTimeout", (time, run: () => void, millis: number) => time.timer(run, millis)),
    timer(globalThis, "setImmediate", (time, run: () => void) => {
      return time.after(time.random.chance(0.1) ? time.random.next() : 0.01, time.current, run)
    }),
    timer(globalThis, "clearTimeout", (_, timer) => cancel(timer)),
    timer(performance, "now", (time) => time.monotonicMillis),
    timer(Date, "now", (time) => Math.floor(time.monotonicMillis)),
    timer(process.hrtime, "bigint", (time) => BigInt(Math.round(time.monotonicMillis * 1e6))),
    timer(
      timersPromises,
      "setTimeout",
      (time, millis: number) =>
        new Promise((resolve) => {
          time.timer(() => resolve(undefined), millis)
        })
    ),
    timer(crypto, "randomInt", (time, limit: number) => Math.floor(time.random.next() * limit))
  ]
  function timer(owner: object, name: string, simulated: Simulated): Replacement {
    const replace =
      (real: Function) =>
      (...values: ReadonlyArray<never>) => {
        const time = times.current
        return time.current === undefined ? real.apply(owner, values as never) : simulated(time, ...values)
      }
    return { owner, name, replace }
  }
  const restore = replaced.map(({ owner, name, replace }) => {
    const own = Object.getOwnPropertyDescriptor(owner, name)
    const real = (owner as Record<string, Function>)[name] as Function
    Object.defineProperty(owner, name, { configurable: true, writable: true, value: replace(real) })
    return () => (own === undefined ? Reflect.deleteProperty(owner, name) : Object.defineProperty(owner, name, own))
  })
  syncBuiltinESMExports()
  try {
    return await body()
  } finally {
    for (const undo of restore) undo()
    syncBuiltinESMExports()
  }
}

const cancel = (timer: unknown): void => {
  if (timer instanceof Event) timer.run = undefined
}
