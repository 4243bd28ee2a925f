/**
 * The measurements: every target in turn, round after round in rotated order, and the median of the rounds.
 *
 * Interleaving lets whatever else the machine does fall on all targets alike, so the ratios hold where the absolute
 * figures do not.
 */
import type { Ask } from "./BenchRequest.ts"
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
  readonly ttfbConnections: number
  readonly idleStreams: number
}

export interface Round {
  readonly outcome: Outcome
  readonly cpuMicros: number
  /** The share of the measured CPU that went to processes that have nothing to do with this. */
  readonly foreignShare: number
}

const WARM_UP_TURNS = 8
const ATTEMPTS = 2
/** Others on the measured CPU: more than that, and a figure says little. */
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

  /** Until the compiler has seen enough of every target, within reason. */
  async warmUp(targets: ReadonlyArray<Target>): Promise<void> {
    const { warmUpMillis: millis, warmUpRequests, jsonConnections: connections } = this.#plan
    for (const target of targets) {
      let requests = 0
      for (let turn = 0; turn < WARM_UP_TURNS && requests < warmUpRequests; turn++) {
        requests += (await this.#run(target, { ask: { kind: "json" }, connections, millis })).outcome.requests
      }
      await this.#run(target, { ask: { kind: "stream", chunks: 50, everyMillis: 5 }, connections, millis })
    }
  }

  json(targets: ReadonlyArray<Target>): Promise<Rounds> {
    const { jsonMillis: millis, jsonConnections: connections } = this.#plan
    return this.#rounds(targets, { ask: { kind: "json" }, connections, millis })
  }

  streams(targets: ReadonlyArray<Target>): Promise<Rounds> {
    const { streams: connections, chunksPerStream: chunks, chunkEveryMillis: everyMillis } = this.#plan
    return this.#rounds(targets, { ask: { kind: "stream", chunks, everyMillis }, connections, millis: 0 })
  }

  ttfb(targets: ReadonlyArray<Target>): Promise<Rounds> {
    const { ttfbMillis: millis, ttfbConnections: connections } = this.#plan
    return this.#rounds(targets, { ask: { kind: "stream", chunks: 5, everyMillis: 20 }, connections, millis })
  }

  /**
   * KiB of memory for each open stream that says nothing: what the second half of them adds, so that what a process
   * takes once (its young generation) is not counted. Comes first: one that was under load before has room in its heap.
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
          ask: { kind: "idle" },
          connections: half,
          millis: 0
        })
        if (open < total) throw new Error(`${target.name}: only ${open} of ${total} streams stayed open`)
        await pause(1_000)
        return residentKib(pids)
      }
      const before = await openHalf(half)
      figures.set(target, ((await openHalf(2 * half)) - before) / half)
      await this.#order({ order: "leave" })
      await pause(500)
    }
    return figures
  }

  async #rounds(
    targets: ReadonlyArray<Target>,
    load: { readonly ask: Ask; readonly connections: number; readonly millis: number }
  ): Promise<Rounds> {
    const rounds = new Map(targets.map((target) => [target, [] as Array<Round>]))
    for (let round = 0; round < this.#plan.rounds; round++) {
      const rotated = targets.map((_, i) => targets[(i + round) % targets.length])
      for (const target of rotated) {
        if (target !== undefined) rounds.get(target)?.push(await this.#undisturbed(target, load))
      }
    }
    return rounds
  }

  /** The least disturbed of a few attempts; the first, when the machine is ours. */
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
    const foreign = busyMicros(MEASURED_CPU) - busyBefore - used
    return { outcome, cpuMicros: used, foreignShare: Math.max(0, foreign / (outcome.elapsedMillis * 1_000)) }
  }

  #order<Answer>(order: Order): Promise<Answer> {
    return this.#load.ask<Answer>(order)
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** The median of a figure over the rounds of a target. */
export const median = (rounds: ReadonlyArray<Round> | undefined, figure: (round: Round) => number): number => {
  const sorted = (rounds ?? []).map(figure).sort((a, b) => a - b)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return (low + high) / 2
}
