/**
 * Measures the rankings of a server that relays requests at the same time. The results are the rate of documents sent
 * from memory, the delay of relayed requests during a computation, and the number of different documents that two nodes
 * compute.
 */

import { type BenchProcess, SERVING_CPU, startBenchProcess } from "./BenchProcess.ts"
import type { Part, Span } from "./Latencies.ts"
import type { Load, LoadResult } from "./LoadGenerator.ts"
import type { Target } from "./Target.ts"
import type { TollgateTarget } from "./Tollgate.ts"

export const WINDOWS = ["day", "week", "month", "all"]
const MINUTE = 60_000
const RELAYED_CONNECTIONS = 16
/** The load begins this long after a minute begins, and ends this long before the minute ends. */
const MARGIN_MILLIS = 1_500
const FETCH_EVERY_MILLIS = 5_000
/**
 * The positions of two fetches among the fetches of a minute. The documents are computed at the first position, and are
 * in memory at the second.
 */
const COMPUTED = 1
const CACHED = 6
/** The time after a computation during which the computation can still delay requests. */
const AFTERMATH_MILLIS = 500
/** The duration of a load before the measurement. This load opens the connections and warms up the JIT compiler. */
const WARM_UP_MILLIS = 20_000

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
const untilNextMinute = () => pause(MINUTE - (Date.now() % MINUTE) + MARGIN_MILLIS)

const run = async (load: BenchProcess, requested: Load): Promise<LoadResult> => {
  const result = await load.request<LoadResult>({ command: "run", ...requested })
  if (result.errors > 0) throw new Error(`${result.errors} errors, the first: ${result.firstError}`)
  return result
}

/** Returns the requests per second for documents in memory, for the slowest window. */
export const cachedRate = async ({ port }: Target): Promise<number> => {
  const load = await startBenchProcess("LoadGenerator.ts", SERVING_CPU)
  try {
    const rates: Array<number> = []
    for (const window of WINDOWS) {
      const requested = { port, keys: ["none"], kind: { kind: "rankings", window } as const, connections: 64 }
      await run(load, { ...requested, millis: 1_000 })
      const { requests, elapsedMillis } = await run(load, { ...requested, millis: 3_000 })
      rates.push((requests / elapsedMillis) * 1_000)
    }
    return Math.min(...rates)
  } finally {
    await load.stop()
  }
}

/** The results of a minute under load. In this minute both nodes get a request for every window every five seconds. */
export interface Minute {
  readonly p99Micros: number
  /** The time until both nodes have sent all windows. */
  readonly computedMillis: number
  /** The requests during the computation, and for comparison the requests during a later fetch of all windows. */
  readonly computed: Part
  readonly cached: Part
}

export interface UnderLoad {
  readonly minutes: ReadonlyArray<Minute>
  /** The largest number of different documents of one window in one minute, over both nodes. */
  readonly maxDocuments: number
  readonly documents: number
}

export const underLoad = async (node: TollgateTarget, count: number): Promise<UnderLoad> => {
  const other = await node.beside()
  const load = await startBenchProcess("LoadGenerator.ts", SERVING_CPU)
  const generatedAtByMinute = new Map<string, Set<string>>()
  const fetchWindow = async ({ port }: Target, window: string): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/rankings?window=${window}`)
    const { generated_at: generatedAt } = (await response.json()) as { readonly generated_at: string }
    const minute = `${window} ${generatedAt.slice(0, 16)}`
    generatedAtByMinute.set(minute, (generatedAtByMinute.get(minute) ?? new Set()).add(generatedAt))
  }
  const fetchAll = async (): Promise<Span> => {
    const from = Date.now()
    await Promise.all([node, other].flatMap((each) => WINDOWS.map((window) => fetchWindow(each, window))))
    return { from, to: Date.now() }
  }
  const relayed = (millis: number) =>
    run(load, { port: node.port, keys: node.keys, kind: { kind: "json" }, connections: RELAYED_CONNECTIONS, millis })
  const minute = async (): Promise<Minute> => {
    await untilNextMinute()
    const fetches: Array<Promise<Span>> = []
    const timer = setInterval(() => fetches.push(fetchAll()), FETCH_EVERY_MILLIS)
    const { p99Micros } = await relayed(MINUTE - 2 * MARGIN_MILLIS)
    clearInterval(timer)
    const spans = await Promise.all(fetches)
    const [computed, cached] = [spans[COMPUTED - 1], spans[CACHED - 1]]
    if (computed === undefined || cached === undefined) throw new Error("the rankings were not fetched in time")
    const computedMillis = computed.to - computed.from
    const long = computedMillis + AFTERMATH_MILLIS
    const [duringComputation, duringCached] = await load.request<[Part, Part]>({
      command: "parts",
      spans: [computed, cached].map(({ from }) => ({ from, to: from + long }))
    })
    return { p99Micros, computedMillis, computed: duringComputation, cached: duringCached }
  }
  try {
    const minutes: Array<Minute> = []
    await relayed(WARM_UP_MILLIS)
    while (minutes.length < count) minutes.push(await minute())
    const counts = [...generatedAtByMinute.values()].map(({ size }) => size)
    return { minutes, maxDocuments: Math.max(...counts), documents: counts.length }
  } finally {
    await load.stop()
    await other.stop()
  }
}
