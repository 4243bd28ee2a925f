/**
 * Measures time without the pauses of this process. A shared machine can pause all processes of the trial for minutes.
 * The trial must not count such a pause as time without service, or as a timeout.
 */
import { setTimeout as sleep } from "node:timers/promises"

const TICK_MILLIS = 200
/** A tick that is late by more than this is a pause. */
const PAUSE_MILLIS = 2_000

let pausedMillis = 0
let lastTickMillis = performance.now()

const newPauseMillis = (nowMillis: number): number => {
  const lateMillis = nowMillis - lastTickMillis - TICK_MILLIS
  return lateMillis > PAUSE_MILLIS ? lateMillis : 0
}

const timer = setInterval(() => {
  const now = performance.now()
  pausedMillis += newPauseMillis(now)
  lastTickMillis = now
}, TICK_MILLIS)
timer.unref()

/** Returns the time since the start of this process, without its pauses. */
export const activeMillis = (): number => {
  const now = performance.now()
  return now - pausedMillis - newPauseMillis(now)
}

export const pausesMillis = (): number => pausedMillis

/**
 * Calls the condition repeatedly until it holds. Fails if it is still false after `millis` of active time. An exception
 * in the condition counts as false.
 */
export const eventually = async (what: string, millis: number, condition: () => Promise<boolean>): Promise<void> => {
  const until = activeMillis() + millis
  while (!(await condition().catch(() => false))) {
    if (activeMillis() > until) throw new Error(`${what}: not ready within ${millis} ms`)
    await sleep(TICK_MILLIS)
  }
}
