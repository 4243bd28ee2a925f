/**
 * The input of one simulated history: its customers, its requests and its faults. The seed determines all of it.
 */

import type { Random } from "./Random.ts"
import type { NodeOptions } from "./SimulatedNode.ts"

/** The behaviour of one client and its provider. */
export interface Script {
  readonly streamed: boolean
  readonly promptCharacters: number
  /** Whether the prompt has more tokens than texts of its length usually have. */
  readonly isUnusualPrompt: boolean
  readonly maxOutputTokens: number | undefined
  readonly firstByteMillis: number
  /** The characters of each chunk of content. */
  readonly chunks: ReadonlyArray<number>
  readonly chunkMillis: number
  /** Whether the provider fails after its content. */
  readonly fails: boolean
  /** The time after which the client disconnects. */
  readonly disconnectsAfterMillis: number | undefined
  /** The tokens that the provider reports in addition to the used ones; undefined if it reports no usage. */
  readonly reportedPrompt: number | undefined
  readonly reportedOutput: number | undefined
  /** Whether the provider reports usage in each frame. */
  readonly reportsEarly: boolean
  /** The probability that the client's socket accepts a write with a delay. */
  readonly slowSocket: number
}

export interface CustomerOptions {
  /** Undefined: the account does not exist at the start. */
  readonly planTokens: bigint | undefined
  readonly paygPico: bigint | undefined
}

export interface Scenario {
  readonly nodes: number
  readonly node: NodeOptions
  readonly customers: ReadonlyArray<CustomerOptions>
  readonly requests: number
  /** The time in which requests arrive and faults begin. */
  readonly busyMillis: number
  readonly rates: readonly [bigint, bigint, bigint, bigint]
  /** The level of faults: 0 plans no fault, and 1 plans four. */
  readonly trouble: number
  /** Undefined: no key is limited. */
  readonly keys: KeyOptions | undefined
  /** Whether most responses are whole and arrive within a few milliseconds, and the balances are large. */
  readonly hasFastResponses: boolean
}

/** The histories of the seeds {@link FAST_FIRST_SEED} + n * this number have fast responses. */
export const FAST_SEEDS = 16
export const FAST_FIRST_SEED = 8
export const hasFastResponses = (seed: number): boolean => seed % FAST_SEEDS === FAST_FIRST_SEED

export interface KeyOptions {
  /** The number of the first requests that are long streams of the first customer, so that their holds are extended. */
  readonly longStreams: number
  /** The number of changes of limits. */
  readonly changes: number
  readonly locks: number
  /** The number of changes of the clock of the database. */
  readonly clockChanges: number
  /** How often another session locks a row of a customer for longer than an admission may wait, while a stream runs. */
  readonly longLocks: number
}

export interface ScenarioKind {
  readonly hasLimitedKeys: boolean
  readonly hasFastResponses: boolean
}

export const scenarioOf = (random: Random, { hasFastResponses, hasLimitedKeys }: ScenarioKind): Scenario => {
  const trouble = random.pick([0, 0.3, 1, 1, 3])
  const latencyMillis = random.pick([0.5, 2, 2, 20])
  return {
    nodes: random.pick([1, 2, 2, 3]),
    node: {
      queues: random.pick([1, 1, 2]),
      batchSize: random.pick([1, 2, 3, 8, 512]),
      waitingAdmissions: random.pick([2, 5, 100]),
      unsettled: random.pick([3, 100]),
      admissionMillis: random.pick([300, 1_000, 5_000]),
      connectMillis: random.pick([300, 1_000]),
      transactionMillis: random.pick([300, 1_000, 4_000]),
      lockMillis: random.pick([20, 250]),
      flushMillis: 5_000,
      deadAfterMillis: random.pick([900, 4_000, 4_000, 10_000, 10_000]),
      latencyMillis
    },
    customers: Array.from({ length: random.integer(1, 3) }, (_, i) =>
      hasLimitedKeys && i === 0 ? OF_LONG_STREAMS : hasFastResponses ? AMPLE : customerOf(random)
    ),
    requests: random.integer(3, 12),
    busyMillis: random.pick([300, 1_500, 3_000]),
    rates: [rate(random), rate(random), rate(random), rate(random)],
    trouble,
    keys: hasLimitedKeys ? keysOf(random) : undefined,
    hasFastResponses
  }
}

/** The balances of the customer of the long streams. */
const OF_LONG_STREAMS: CustomerOptions = { planTokens: undefined, paygPico: 3_000_000n }

/** Balances that are ample for every request. */
const AMPLE: CustomerOptions = { planTokens: 1_000_000_000n, paygPico: 1_000_000_000_000n }

const keysOf = (random: Random): KeyOptions => ({
  longStreams: random.integer(1, 2),
  changes: random.integer(2, 6),
  locks: random.pick([0, 0, 1]),
  clockChanges: random.pick([0, 0, 1, 3]),
  longLocks: random.pick([0, 1])
})

const rate = (random: Random): bigint => BigInt(random.pick([0, 1, 3, 40]))

const customerOf = (random: Random): CustomerOptions => {
  const balance = () => {
    if (random.chance(0.25)) return undefined
    return BigInt(Math.floor(random.pick([100, 3_000, 30_000, 3_000_000]) * random.next()))
  }
  return { planTokens: balance(), paygPico: balance() }
}

export const scriptOf = (random: Random): Script => {
  const streamed = random.chance(0.8)
  const isHonest = random.chance(0.85)
  const reported = (p: number) => (random.chance(p) ? (isHonest ? 0 : random.integer(1, 3_000)) : undefined)
  const length = random.pick([0, 1, 3, 6, 10])
  const reportedOutput = reported(0.6)
  const chunk = () => Math.ceil(random.skewed(1, random.pick([30, 900, 900, 9_000])))
  return {
    streamed,
    promptCharacters: Math.ceil(random.skewed(1, 600)),
    isUnusualPrompt: random.chance(0.1),
    maxOutputTokens: random.chance(0.3) ? random.integer(1, 2_000) : undefined,
    firstByteMillis: random.skewed(1, 500),
    chunks: Array.from({ length: streamed ? length : 1 }, chunk),
    chunkMillis: random.pick([1, 20, 200]),
    fails: random.chance(0.1),
    disconnectsAfterMillis: random.chance(0.25) ? random.skewed(1, 1_500) : undefined,
    reportedPrompt: reported(0.6),
    reportedOutput,
    reportsEarly: reportedOutput !== undefined && random.chance(0.2),
    slowSocket: random.pick([0, 0, 0.3])
  }
}

/** A whole response that can be settled in the transaction of its admission. */
export const fastResponseOf = (random: Random): Script => ({
  ...scriptOf(random),
  streamed: false,
  firstByteMillis: random.skewed(0.2, 15),
  chunks: [random.integer(1, 3_000)],
  disconnectsAfterMillis: random.chance(0.1) ? random.skewed(1, 100) : undefined,
  reportedPrompt: 0,
  reportedOutput: 0,
  reportsEarly: false
})

export const longStreamOf = (random: Random): Script => ({
  ...scriptOf(random),
  streamed: true,
  maxOutputTokens: undefined,
  firstByteMillis: random.skewed(1, 50),
  chunks: Array.from({ length: 10 }, () => random.integer(100, 1_500)),
  chunkMillis: 100,
  fails: false,
  disconnectsAfterMillis: undefined
})
