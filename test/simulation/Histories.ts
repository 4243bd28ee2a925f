/** Runs histories of consecutive seeds. */
import { globalValue } from "effect/GlobalValue"
import { History, type HistoryResult } from "./History.ts"
import { withSimulatedTime } from "./ReplacedGlobals.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

export type { HistoryResult }

/**
 * The fibers of a killed process never end, and Effect refers to them. Without `forgetFibers` each history would keep
 * 75 KiB of memory.
 */
const runningFibers = globalValue(Symbol.for("effect/FiberScope/Global"), (): { readonly roots: Set<unknown> } => {
  throw new Error("Effect no longer keeps its running fibers under this name")
}).roots

const forgetFibers = (except: ReadonlySet<unknown>): void => {
  for (const fiber of runningFibers) if (!except.has(fiber)) runningFibers.delete(fiber)
}

/** Runs the histories of every `step`th seed until `onResult` returns false. */
export const runHistories = async (
  firstSeed: number,
  count: number,
  onResult: (result: HistoryResult) => boolean,
  trace?: (line: string) => void,
  step = 1
): Promise<void> => {
  const times = { current: undefined as unknown as SimulatedTime }
  times.current = new History(firstSeed).time
  const { stackTraceLimit } = Error
  const otherFibers = new Set(runningFibers)
  // Stack traces take a large part of the time.
  if (trace === undefined) Error.stackTraceLimit = 0
  await withSimulatedTime(times, async () => {
    for (let seed = firstSeed; seed < firstSeed + count * step; seed += step) {
      const history = new History(seed, trace)
      times.current = history.time
      const result = await history.run()
      forgetFibers(otherFibers)
      if (!onResult(result)) return
    }
  }).finally(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
}
