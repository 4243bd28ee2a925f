/**
 * Runs histories of consecutive seeds, one after the other.
 */
import { History, type HistoryResult } from "./History.ts"
import { withSimulatedTime } from "./ReplacedGlobals.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/** Runs the histories of these seeds until `onResult` returns false. */
export const runHistories = async (
  firstSeed: number,
  count: number,
  onResult: (result: HistoryResult) => boolean,
  trace?: (line: string) => void
): Promise<void> => {
  const times = { current: undefined as unknown as SimulatedTime }
  times.current = new History(firstSeed).time
  const { stackTraceLimit } = Error
  // Stack traces take a large part of the time.
  if (trace === undefined) Error.stackTraceLimit = 0
  await withSimulatedTime(times, async () => {
    for (let seed = firstSeed; seed < firstSeed + count; seed++) {
      const history = new History(seed, trace)
      times.current = history.time
      if (!onResult(await history.run())) return
    }
  }).finally(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
}
