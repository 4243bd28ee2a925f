/**
 * The measurements: many short rounds, each of which measures every target once. The report shows the best round of each
 * target, because other work on the machine can only make a round slower.
 *
 * The order of the targets changes with each round, so that no target gains from its position. The ratios hold on other
 * machines; the absolute figures do not.
 */
import type { RequestKind } from "./BenchRequest.ts"
import type { Load, Order, Outcome } from "./LoadGenerator.ts"
import { busyMicros, cpuMicros, residentKib } from "./ProcessFigures.ts"
import type { Target } from "./Target.ts"
import { MEASURED_CPU, type Worker } from "./Worker.ts"

export interface Plan {
  readonly rounds: number
  readonly warmUpMillis: number
  readonly warmUpRequests: number
  readonly jsonMillis: number
  readonly jsonConnections: number
  readonly streams: number
  readonly chunksPerStream: number
  readonly chunkEveryMillis: number
  readonly ttfbMillis: number
  readonly ttfbConnections: ReadonlyArray<number>
  readonly idleStreams: number
  /** Whether the targets have a CPU of their own. Otherwise no share of other processes is measured. */
  readonly ownCpu: boolean
}

export interface Round {
  readonly outcome: Outcome
  readonly cpuMicros: number
  /** The share of the measured CPU that other processes took. */
  readonly foreignShare: number
}

const WARM_UP_TURNS = 8
const ATTEMPTS = 2
/** Above this share of other processes on the measured CPU, a figure is not reliable. */
export const DISTURBED_SHARE = 0.1

/** The rounds of one measurement, by target. */
export type Rounds = ReadonlyMap<Target, ReadonlyArray<Round>>

export class Bench {
  readonly #load: Worker
  readonly #plan: Plan
  readonly #onOutcome: (target: Target, outcome: Outcome) => void

  constructor(load: Worker, plan: Plan, onOutcome: (target: Target, outcome: Outcome) => void) {
    this.#load = load
    this.#plan = plan
    this.#onOutcome = onOutcome
  }

  /** Sends requests until the JIT compiler has optimised each target, for a bounded number of turns. */
  async warmUp(targets: ReadonlyArray<Target>): Promise<void> {
    const { warmUpMillis: millis, warmUpRequests, jsonConnections: connections } = this.#plan
    for (const target of targets) {
      let requests = 0
      for (let turn = 0; turn < WARM_UP_TURNS && requests < warmUpRequests; turn++) {
        requests += (await this.#run(target, { kind: { kind: "json" }, connections, millis })).outcome.requests
      }
      await this.#run(target, {
        kind: { kind: "stream", chunks: 50, everyMillis: 5, afterMillis: 0 },
        connections,
        millis
      })
    }
  }

  json(targets: ReadonlyArray<Target>): Promise<Rounds> {
    const { jsonMillis: millis, jsonConnections: connections } = this.#plan
    return this.#rounds(targets, { kind: { kind: "json" }, connections, millis })
  }

  streams(targets: ReadonlyArray<Target>): Promise<Rounds> {
    const { streams: connections, chunksPerStream: chunks, chunkEveryMillis: everyMillis } = this.#plan
    return this.#rounds(targets, {
      kind: { kind: "stream", chunks, everyMillis, afterMillis: 0 },
      connections,
      millis: 0
    })
  }

  /** Streams of a model that sends its first byte after `afterMillis`. */
  ttfb(targets: ReadonlyArray<Target>, connections: number, afterMillis: number): Promise<Rounds> {
    const { ttfbMillis: millis } = this.#plan
    const kind: RequestKind = { kind: "stream", chunks: 5, everyMillis: 20, afterMillis }
    return this.#rounds(targets, { kind, connections, millis })
  }

  /**
   * KiB of memory for each open silent stream. Only the second half of the streams is counted, so that memory which a
   * process takes once (its young generation) is left out. This measurement runs first, because a process that was under
   * load has free room in its heap.
   */
  async idleStreams(targets: ReadonlyArray<Target>): Promise<ReadonlyMap<Target, number>> {
    const half = this.#plan.idleStreams / 2
    const figures = new Map<Target, number>()
    for (const target of targets) {
      const { port, keys, pids } = target
      const openHalf = async (total: number): Promise<number> => {
        const open = await this.#order<number>({
          order: "open",
          port,
          keys,
          kind: { kind: "idle" },
          connections: half,
          millis: 0
        })
        if (open < total) throw new Error(`${target.name}: only ${open} of ${total} streams stayed open`)
        await pause(1_000)
        return residentKib(pids)
      }
      const before = await openHalf(half)
      figures.set(target, ((await openHalf(2 * half)) - before) / half)
      await this.#order({ order: "close" })
      await pause(500)
    }
    return figures
  }

  async #rounds(
    targets: ReadonlyArray<Target>,
    load: { readonly kind: RequestKind; readonly connections: number; readonly millis: number }
  ): Promise<Rounds> {
    const rounds = new Map(targets.map((target) => [target, [] as Array<Round>]))
    for (let round = 0; round < this.#plan.rounds; round++) {
      for (const target of inOrderOfRound(targets, round)) {
        rounds.get(target)?.push(await this.#undisturbed(target, load))
      }
    }
    return rounds
  }

  /** The least disturbed of a few attempts. The first one is taken when nothing disturbs it. */
  async #undisturbed(target: Target, load: Omit<Load, "port" | "keys">): Promise<Round> {
    let best = await this.#run(target, load)
    for (let attempt = 2; attempt <= ATTEMPTS && best.foreignShare > DISTURBED_SHARE; attempt++) {
      const again = await this.#run(target, load)
      if (again.foreignShare < best.foreignShare) best = again
    }
    return best
  }

  async #run(target: Target, load: Omit<Load, "port" | "keys">): Promise<Round> {
    const { port, keys } = target
    const before = cpuMicros(target.pids)
    const busyBefore = busyMicros(MEASURED_CPU)
    const outcome = await this.#order<Outcome>({ order: "run", port, keys, ...load })
    const used = cpuMicros(target.pids) - before
    if (outcome.errors > 0)
      throw new Error(`${target.name}: ${outcome.errors} errors, the first: ${outcome.firstError}`)
    this.#onOutcome(target, outcome)
    const foreign = this.#plan.ownCpu ? busyMicros(MEASURED_CPU) - busyBefore - used : 0
    return { outcome, cpuMicros: used, foreignShare: Math.max(0, foreign / (outcome.elapsedMillis * 1_000)) }
  }

  #order<Result>(order: Order): Promise<Result> {
    return this.#load.request<Result>(order)
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Each target takes each position equally often, in both directions. */
const inOrderOfRound = (targets: ReadonlyArray<Target>, round: number): ReadonlyArray<Target> => {
  const first = Math.floor(round / 2) % targets.length
  const rotated = [...targets.slice(first), ...targets.slice(0, first)]
  return round % 2 === 0 ? rotated : rotated.reverse()
}

export type Figure = (round: Round) => number

/** The best figure over the rounds of a target: the highest rate, or the lowest cost. */
export const best = (rounds: ReadonlyArray<Round> | undefined, figure: Figure, better: "higher" | "lower"): number => {
  const figures = (rounds ?? []).map(figure)
  if (figures.length === 0) return Number.NaN
  return better === "higher" ? Math.max(...figures) : Math.min(...figures)
}

/** The median of a figure over rounds. */
export const median = (rounds: ReadonlyArray<Round>, figure: Figure): number => {
  const sorted = rounds.map(figure).sort((a, b) => a - b)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return (low + high) / 2
}
