/**
 * Measures the targets in many short rounds. Each round measures every target once, or twice if other processes
 * disturbed the first measurement. The report shows the best value of each figure over all rounds, because other work
 * on the machine can only make a round slower.
 *
 * The order of the targets varies over the rounds, so that no target gains from its position. The ratios depend less on
 * the machine than the absolute figures.
 */

import { type BenchProcess, MEASURED_CPU } from "./BenchProcess.ts"
import type { Load, LoadCommand, LoadResult } from "./LoadGenerator.ts"
import { busyMicros, cpuMicros, residentKib } from "./ProcessFigures.ts"
import type { Target } from "./Target.ts"

export interface Plan {
  readonly rounds: number
  readonly warmUpMillis: number
  readonly warmUpRequests: number
  readonly jsonMillis: number
  readonly jsonConnections: number
  readonly streams: number
  readonly chunksPerStream: number
  readonly chunkEveryMillis: number
  readonly ttfbRounds: number
  readonly ttfbMillis: number
  readonly ttfbConnections: ReadonlyArray<number>
  readonly idleStreams: number
  /** Whether the targets have a CPU of their own. Otherwise no share of other processes is measured. */
  readonly ownCpu: boolean
}

export interface TtfbLoad {
  /** The time in milliseconds after which the model sends its first byte. */
  readonly afterMillis: number
  /**
   * "together": all clients send their requests at the same moments, so each request waits for the others.
   * "independent": the requests are spread over the duration of a stream.
   */
  readonly clients: "together" | "independent"
}

export interface Round {
  readonly result: LoadResult
  readonly cpuMicros: number
  /** The share of the measured CPU that other processes used. */
  readonly foreignShare: number
}

const WARM_UP_TURNS = 8
const ATTEMPTS = 2
/** If other processes use more than this share of the measured CPU, a figure is not reliable. */
export const DISTURBED_SHARE = 0.1

/** The rounds of one measurement, by target. */
export type Rounds = ReadonlyMap<Target, ReadonlyArray<Round>>

export class Bench {
  readonly #load: BenchProcess
  readonly #plan: Plan
  readonly #onResult: (target: Target, result: LoadResult) => void

  constructor(load: BenchProcess, plan: Plan, onResult: (target: Target, result: LoadResult) => void) {
    this.#load = load
    this.#plan = plan
    this.#onResult = onResult
  }

  /**
   * Sends requests to each target so that the JIT compiler optimises its code: at least `warmUpRequests`, or fewer if
   * they are not complete after 8 turns of `warmUpMillis`.
   */
  async warmUp(targets: ReadonlyArray<Target>): Promise<void> {
    const { warmUpMillis: millis, warmUpRequests, jsonConnections: connections } = this.#plan
    for (const target of targets) {
      let requests = 0
      for (let turn = 0; turn < WARM_UP_TURNS && requests < warmUpRequests; turn++) {
        requests += (await this.#run(target, { kind: { kind: "json" }, connections, millis })).result.requests
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

  /** Measures the time to the first byte of streams. */
  ttfb(targets: ReadonlyArray<Target>, connections: number, { afterMillis, clients }: TtfbLoad): Promise<Rounds> {
    const { ttfbMillis: millis, ttfbRounds: rounds } = this.#plan
    const kind = { kind: "stream", chunks: 5, everyMillis: 20, afterMillis } as const
    const streamMillis = afterMillis + kind.chunks * kind.everyMillis
    const spread = clients === "independent" ? { spreadMillis: streamMillis } : {}
    return this.#rounds(targets, { kind, connections, millis, ...spread }, rounds)
  }

  /**
   * Measures how much memory one open silent stream occupies in each target, in KiB. Counts only the last quarter of
   * the streams, to exclude memory that a process allocates only once: its young generation has its full size after
   * some thousand streams. This measurement must run first, because the heap of a process that was under load has free
   * space.
   */
  async idleStreams(targets: ReadonlyArray<Target>): Promise<ReadonlyMap<Target, number>> {
    const quarter = this.#plan.idleStreams / 4
    const figures = new Map<Target, number>()
    for (const target of targets) {
      const { port, keys, pids } = target
      const openQuarter = async (total: number): Promise<number> => {
        const open = await this.#send<number>({
          command: "open",
          port,
          keys,
          kind: { kind: "idle" },
          connections: quarter,
          millis: 0
        })
        if (open < total) throw new Error(`${target.name}: only ${open} of ${total} streams stayed open`)
        await pause(1_000)
        return residentKib(pids)
      }
      for (const opened of [1, 2]) await openQuarter(opened * quarter)
      const before = await openQuarter(3 * quarter)
      figures.set(target, ((await openQuarter(4 * quarter)) - before) / quarter)
      await this.#send({ command: "close" })
      await pause(500)
    }
    return figures
  }

  async #rounds(
    targets: ReadonlyArray<Target>,
    load: Omit<Load, "port" | "keys">,
    count = this.#plan.rounds
  ): Promise<Rounds> {
    const rounds = new Map(targets.map((target) => [target, [] as Array<Round>]))
    for (let round = 0; round < count; round++) {
      for (const target of inOrderOfRound(targets, round)) {
        rounds.get(target)?.push(await this.#undisturbed(target, load))
      }
    }
    return rounds
  }

  /** Returns the least disturbed of at most two attempts. Makes the second attempt only if the first was disturbed. */
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
    const result = await this.#send<LoadResult>({ command: "run", port, keys, ...load })
    const used = cpuMicros(target.pids) - before
    if (result.errors > 0) throw new Error(`${target.name}: ${result.errors} errors, the first: ${result.firstError}`)
    this.#onResult(target, result)
    const foreign = this.#plan.ownCpu ? busyMicros(MEASURED_CPU) - busyBefore - used : 0
    return { result, cpuMicros: used, foreignShare: Math.max(0, foreign / (result.elapsedMillis * 1_000)) }
  }

  #send<Result>(command: LoadCommand): Promise<Result> {
    return this.#load.request<Result>(command)
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Returns the targets in the order of a round. */
const inOrderOfRound = (targets: ReadonlyArray<Target>, round: number): ReadonlyArray<Target> => {
  const first = Math.floor(round / 2) % targets.length
  const rotated = [...targets.slice(first), ...targets.slice(0, first)]
  return round % 2 === 0 ? rotated : rotated.reverse()
}

export type Figure = (round: Round) => number

/** Returns the best figure over the rounds of a target: the highest rate, or the lowest cost. */
export const best = (rounds: ReadonlyArray<Round> | undefined, figure: Figure, better: "higher" | "lower"): number => {
  const figures = (rounds ?? []).map(figure)
  if (figures.length === 0) return Number.NaN
  return better === "higher" ? Math.max(...figures) : Math.min(...figures)
}

/** Returns the median of a figure over rounds. */
export const median = (rounds: ReadonlyArray<Round>, figure: Figure): number => {
  const sorted = rounds.map(figure).sort((a, b) => a - b)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return (low + high) / 2
}
