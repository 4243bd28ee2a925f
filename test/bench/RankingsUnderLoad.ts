/**
 * The rankings as a server serves them while it relays: how fast they come out of its memory, what making them does to the
 * requests beside them, and how often two nodes make them.
 */
import type { Load, Outcome } from "./LoadGenerator.ts"
import type { Target } from "./Target.ts"
import type { TollgateTarget } from "./Tollgate.ts"
import { SERVING_CPU, startWorker, type Worker } from "./Worker.ts"

export const WINDOWS = ["day", "week", "month", "all"]
const MINUTE = 60_000
const RELAYED_CONNECTIONS = 16
/** Kept free at either end of a minute, so that what is measured lies inside it. */
const MARGIN_MILLIS = 1_500
/** Often enough that every minute is made; what asking itself costs is another question. */
const ASKED_EVERY_MILLIS = 5_000
/** Of load before anything is measured: connections and compilers take their time. */
const WARM_UP_MILLIS = 20_000
const SETTLING_MILLIS = 5_000

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
const tillNextMinute = () => pause(MINUTE - (Date.now() % MINUTE) + MARGIN_MILLIS)

const run = async (load: Worker, order: Load): Promise<Outcome> => {
  const outcome = await load.ask<Outcome>({ order: "run", ...order })
  if (outcome.errors > 0) throw new Error(`${outcome.errors} errors, the first: ${outcome.firstError}`)
  return outcome
}

/** Requests a second for a window that is in memory, the slowest of the windows. */
export const cachedRate = async ({ port }: Target): Promise<number> => {
  const load = await startWorker("LoadGenerator.ts", SERVING_CPU)
  try {
    const rates: Array<number> = []
    for (const window of WINDOWS) {
      const order = { port, keys: ["none"], ask: { kind: "rankings", window } as const, connections: 64 }
      await run(load, { ...order, millis: 1_000 })
      const { requests, elapsedMillis } = await run(load, { ...order, millis: 3_000 })
      rates.push((requests / elapsedMillis) * 1_000)
    }
    return Math.min(...rates)
  } finally {
    await load.stop()
  }
}

export interface UnderLoad {
  /** The 99th percentile of requests in minutes in which both nodes were asked for every window, and were not. */
  readonly askedP99Micros: ReadonlyArray<number>
  readonly quietP99Micros: ReadonlyArray<number>
  /** The most documents that any window was given in any minute, over both nodes. */
  readonly mostDocuments: number
  readonly documents: number
}

/** Minutes under load, in turn with and without anybody asking for rankings. */
export const underLoad = async (node: TollgateTarget, pairs: number): Promise<UnderLoad> => {
  const other = await node.beside()
  const load = await startWorker("LoadGenerator.ts", SERVING_CPU)
  const madeAt = new Map<string, Set<string>>()
  const ask = async ({ port }: Target, window: string): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/rankings?window=${window}`)
    const { generated_at: generatedAt } = (await response.json()) as { readonly generated_at: string }
    const minute = `${window} ${generatedAt.slice(0, 16)}`
    madeAt.set(minute, (madeAt.get(minute) ?? new Set()).add(generatedAt))
  }
  const relayed = (millis: number) =>
    run(load, { port: node.port, keys: node.keys, ask: { kind: "json" }, connections: RELAYED_CONNECTIONS, millis })
  const minute = async (asked: boolean): Promise<number> => {
    await tillNextMinute()
    await relayed(SETTLING_MILLIS)
    const askAll = () => Promise.all([node, other].flatMap((each) => WINDOWS.map((window) => ask(each, window))))
    // From a moment on: not while the connections of the load are new.
    const asking = asked ? setInterval(() => void askAll(), ASKED_EVERY_MILLIS) : undefined
    const { p99Micros } = await relayed(MINUTE - 2 * MARGIN_MILLIS - SETTLING_MILLIS)
    clearInterval(asking)
    return p99Micros
  }
  try {
    const askedP99Micros: Array<number> = []
    const quietP99Micros: Array<number> = []
    await relayed(WARM_UP_MILLIS)
    for (let pair = 0; pair < pairs; pair++) {
      // In turned order, so that neither kind is always the later one.
      for (const asked of pair % 2 === 0 ? [true, false] : [false, true]) {
        const into = asked ? askedP99Micros : quietP99Micros
        into.push(await minute(asked))
      }
    }
    const counts = [...madeAt.values()].map(({ size }) => size)
    return { askedP99Micros, quietP99Micros, mostDocuments: Math.max(...counts), documents: counts.length }
  } finally {
    await load.stop()
    await other.stop()
  }
}
