/**
 * The rankings as a server serves them while it relays: how fast they come out of its memory, what making them does to the
 * requests beside them, and how often two nodes make them.
 */
import type { Load, Outcome } from "./LoadGenerator.ts"
import type { Target } from "./Target.ts"
import type { TollgateTarget } from "./Tollgate.ts"
import type { Part, Span } from "./Waits.ts"
import { SERVING_CPU, startWorker, type Worker } from "./Worker.ts"

export const WINDOWS = ["day", "week", "month", "all"]
const MINUTE = 60_000
const RELAYED_CONNECTIONS = 16
/** Kept free at either end of a minute, so that what is measured lies inside it. */
const MARGIN_MILLIS = 1_500
const ASKED_EVERY_MILLIS = 5_000
/** Which time in the minute they are asked for: the first time they are made, the other time they are at hand. */
const MADE = 1
const AT_HAND = 6
/** What making them may still do to requests after they were given out. */
const AFTERMATH_MILLIS = 500
/** Of load before anything is measured: connections and compilers take their time. */
const WARM_UP_MILLIS = 20_000

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

/** A minute under load in which both nodes were asked for every window again and again. */
export interface Minute {
  readonly p99Micros: number
  /** How long it took until both nodes had given out all windows. */
  readonly madeMillis: number
  /** The requests beside the making, and, for comparison, those beside another time they were asked for. */
  readonly made: Part
  readonly atHand: Part
}

export interface UnderLoad {
  readonly minutes: ReadonlyArray<Minute>
  /** The most documents that any window was given in any minute, over both nodes. */
  readonly mostDocuments: number
  readonly documents: number
}

export const underLoad = async (node: TollgateTarget, count: number): Promise<UnderLoad> => {
  const other = await node.beside()
  const load = await startWorker("LoadGenerator.ts", SERVING_CPU)
  const madeAt = new Map<string, Set<string>>()
  const ask = async ({ port }: Target, window: string): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/rankings?window=${window}`)
    const { generated_at: generatedAt } = (await response.json()) as { readonly generated_at: string }
    const minute = `${window} ${generatedAt.slice(0, 16)}`
    madeAt.set(minute, (madeAt.get(minute) ?? new Set()).add(generatedAt))
  }
  const askAll = async (): Promise<Span> => {
    const from = Date.now()
    await Promise.all([node, other].flatMap((each) => WINDOWS.map((window) => ask(each, window))))
    return { from, to: Date.now() }
  }
  const relayed = (millis: number) =>
    run(load, { port: node.port, keys: node.keys, ask: { kind: "json" }, connections: RELAYED_CONNECTIONS, millis })
  const minute = async (): Promise<Minute> => {
    await tillNextMinute()
    const asked: Array<Promise<Span>> = []
    const asking = setInterval(() => asked.push(askAll()), ASKED_EVERY_MILLIS)
    const { p99Micros } = await relayed(MINUTE - 2 * MARGIN_MILLIS)
    clearInterval(asking)
    const spans = await Promise.all(asked)
    const [made, atHand] = [spans[MADE - 1], spans[AT_HAND - 1]]
    if (made === undefined || atHand === undefined) throw new Error("rankings were not asked for in time")
    const madeMillis = made.to - made.from
    const long = madeMillis + AFTERMATH_MILLIS
    const [besideMaking, besideGiving] = await load.ask<[Part, Part]>({
      order: "parts",
      spans: [made, atHand].map(({ from }) => ({ from, to: from + long }))
    })
    return { p99Micros, madeMillis, made: besideMaking, atHand: besideGiving }
  }
  try {
    const minutes: Array<Minute> = []
    await relayed(WARM_UP_MILLIS)
    while (minutes.length < count) minutes.push(await minute())
    const counts = [...madeAt.values()].map(({ size }) => size)
    return { minutes, mostDocuments: Math.max(...counts), documents: counts.length }
  } finally {
    await load.stop()
    await other.stop()
  }
}
