/**
 * Runs a target with inputs that are guided by coverage: an input that reaches new code joins the pool, and most later
 * inputs are changed copies of inputs in the pool (CONTRIBUTING.md, Fuzzing).
 *
 * Reading the coverage takes milliseconds, so it is read once for each batch. Only if a batch has reached new code, its
 * inputs are checked again one by one.
 */
import { Session } from "node:inspector"
import { FastCheck } from "effect"
import { readCorpus } from "./Corpus.ts"
import { type Finding, type FuzzRun, faultOf, smallest } from "./GrammarFuzzer.ts"
import { type Change, changed, changes } from "./Mutation.ts"
import type { Check, FuzzTarget, OpenTarget } from "./Target.ts"

const BATCH_SIZE = 200
/** The number of inputs of the grammar with which the pool begins. */
const FIRST_INPUTS = 50
const MAX_POOL_SIZE = 2_000

/** Reports which blocks of the gateway's code were executed. Only one instance can be active. */
class Coverage {
  readonly #session = new Session()
  readonly #known = new Set<string>()

  constructor() {
    this.#session.connect()
    this.#session.post("Profiler.enable")
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  }

  /** Returns the blocks that were executed since the last call and are not known. */
  newBlocks(): ReadonlyArray<string> {
    const reached: Array<string> = []
    this.#session.post("Profiler.takePreciseCoverage", (error, coverage) => {
      if (error !== null) throw error
      for (const { url, functions } of coverage.result) {
        if (!url.includes("/packages/")) continue
        for (const { ranges } of functions) {
          for (const { startOffset, endOffset, count } of ranges) {
            const block = `${url}:${startOffset}:${endOffset}`
            if (count > 0 && !this.#known.has(block)) reached.push(block)
          }
        }
      }
    })
    return reached
  }

  learn(blocks: ReadonlyArray<string>): void {
    for (const block of blocks) this.#known.add(block)
  }

  get blocks(): number {
    return this.#known.size
  }

  stop(): void {
    this.#session.disconnect()
  }
}

export interface GuidedRun extends FuzzRun {
  /** The inputs that reached new code, without the corpus. */
  readonly reached: ReadonlyArray<Buffer>
  readonly blocks: number
}

/** Checks inputs until `isOver` returns true or an input shows a fault. The same seed makes the same inputs. */
export const guidedRun = async (
  target: FuzzTarget,
  { check }: OpenTarget,
  seed: number,
  isOver: (inputs: number) => boolean
): Promise<GuidedRun> => {
  const coverage = new Coverage()
  const pool: Array<Buffer> = []
  const reached: Array<Buffer> = []
  let inputs = 0
  const runBatch = async (batch: ReadonlyArray<Buffer>, keep: Array<Buffer>): Promise<Finding | undefined> => {
    inputs += batch.length
    const finding = await firstFinding(check, batch)
    if (finding !== undefined || coverage.newBlocks().length === 0) return finding
    for (const input of batch) {
      await check(input)
      const blocks = coverage.newBlocks()
      coverage.learn(blocks)
      if (blocks.length > 0 && pool.length < MAX_POOL_SIZE) {
        pool.push(input)
        keep.push(input)
      }
    }
    return undefined
  }
  try {
    const corpus = readCorpus(target.name).map(({ bytes }) => bytes)
    let finding = await runBatch(corpus, [])
    finding ??= await runBatch(FastCheck.sample(target.grammar, { seed, numRuns: FIRST_INPUTS }), reached)
    for (let batch = 1; finding === undefined && !isOver(inputs); batch++) {
      finding = await runBatch(nextBatch(target, pool, seed + batch), reached)
    }
    return { inputs, finding, reached, blocks: coverage.blocks }
  } finally {
    coverage.stop()
  }
}

const firstFinding = async (check: Check, batch: ReadonlyArray<Buffer>): Promise<Finding | undefined> => {
  for (const input of batch) {
    const fault = await faultOf(check, input)
    if (fault !== undefined) return await smallest(check, input, fault)
  }
  return undefined
}

/** Prefers newer inputs of the pool. Some of the new inputs are two inputs of the pool, joined. */
const nextBatch = (
  { words, grammar }: FuzzTarget,
  pool: ReadonlyArray<Buffer>,
  seed: number
): ReadonlyArray<Buffer> => {
  const chosen = FastCheck.tuple(FastCheck.nat(), FastCheck.nat(), FastCheck.nat(9), changes(words))
  const fresh = FastCheck.sample(grammar, { seed, numRuns: 10 })
  const guided = FastCheck.sample(chosen, { seed, numRuns: BATCH_SIZE - fresh.length })
  return [
    ...fresh,
    ...guided.map(([at, other, kind, list]: [number, number, number, ReadonlyArray<Change>]) => {
      const newest = Math.max(1, kind < 4 ? Math.ceil(pool.length / 8) : pool.length)
      const input = pool[pool.length - 1 - (at % newest)] ?? Buffer.alloc(0)
      const second = pool[other % Math.max(1, pool.length)] ?? Buffer.alloc(0)
      const cut = other % (input.length + 1)
      return list.reduce(changed, kind === 9 ? Buffer.concat([input.subarray(0, cut), second.subarray(cut)]) : input)
    })
  ]
}
