/**
 * Faults that the simulation must find. Each fault is an edit of a source file. The simulation is bundled with the
 * edited file, and must find a violation.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { build } from "esbuild"
import type * as Histories from "./Histories.ts"
import { LIMITED_SEEDS } from "./LimitedKeys.ts"
import { FAST_FIRST_SEED, FAST_SEEDS } from "./Scenario.ts"

export interface Fault {
  readonly name: string
  /** The source file, relative to the root of the repository. */
  readonly file: string
  /** The text that the fault replaces. It occurs once in the file. */
  readonly correct: string
  readonly faulty: string
  /** A part of the message of the violated invariant. */
  readonly violates: RegExp
  /** Whether only histories with limited keys run. */
  readonly needsLimitedKeys?: true
  /** Whether only histories with fast responses run. */
  readonly needsFastResponses?: true
}

const LEDGER = "packages/adapters-postgres/src/ledger"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "an extension ignores the pending amounts of other requests",
    file: "packages/domain/src/ledger/Hold.ts",
    correct: "const paygLimit = balances.payg === undefined ? 0n : Account.available(balances.payg) + hold.paygPico",
    faulty: "const paygLimit = balances.payg === undefined ? 0n : Account.remaining(balances.payg) + hold.paygPico",
    violates: /account_available/
  },
  {
    name: "a settlement is written although another node has deleted the hold",
    file: "test/simulation/database/Writes.ts",
    correct: "return written === requestIds.length",
    faulty: "return true",
    violates: /account pending|is not its open holds|are not its settlements|only_grows/
  },
  {
    name: "accounts are written without a comparison with the cached amounts",
    file: "test/simulation/database/Writes.ts",
    correct: "    row.debits === big(columns, 2, i) &&\n      row.pending === big(columns, 3, i)",
    faulty: "    row.debits <= big(columns, 4, i)",
    violates: /is not its open holds|are not its settlements/
  },
  {
    name: "a retry ignores that the commit of a settlement may have succeeded",
    file: `${LEDGER}/BatchResults.ts`,
    correct: "waiting.maybeCommitted = settled[i]",
    faulty: "waiting.maybeCommitted = undefined",
    violates: /reported as settled by another node/
  },
  {
    name: "a retry ignores that the commit of an admission may have succeeded",
    file: `${LEDGER}/BatchResults.ts`,
    correct: 'waiting.maybeCommitted = outcome?._tag === "Right"',
    faulty: "waiting.maybeCommitted = false",
    violates: /rejected an admission|never settled|stays open/
  },
  {
    name: "a sweep settles the requests of live nodes",
    file: "packages/application/src/background/NodeHeartbeat.ts",
    correct: "now - since >= this.#deadAfter",
    faulty: "now - since >= this.#deadAfter / 10n",
    violates: /of the live node/
  },
  {
    name: "the queue loses the wake-up of a request that arrives during a transaction",
    file: `${LEDGER}/GroupCommitQueue.ts`,
    correct: "while (!this.#stopped && ((this.#urgent && size(waiting) > 0) || contended.due)) {",
    faulty: "if (!this.#stopped && ((this.#urgent && size(waiting) > 0) || contended.due)) {",
    violates: /did not end|took|has no result/
  },
  {
    name: "an admission is refused at its deadline although its transaction may settle the request",
    file: `${LEDGER}/BatchResults.ts`,
    correct: "waiting.settlement !== undefined && (isRunning || waiting.maybeCommitted)",
    faulty: "false",
    violates: /is charged although it was refused/,
    needsFastResponses: true
  },
  {
    name: "a retry ignores that the commit of a settlement with its admission may have succeeded",
    file: `${LEDGER}/BatchResults.ts`,
    correct: "waiting.settlement.maybeCommitted = settledAtOnce(outcome)",
    faulty: "waiting.settlement.maybeCommitted = undefined",
    violates: /is charged although it was refused/,
    needsFastResponses: true
  },
  {
    name: "a stream writes content that its hold does not cover",
    file: "packages/application/src/inference/StreamAllowance.ts",
    correct: "if (tokens > this.#room) {",
    faulty: "if (tokens > this.#room + 400) {",
    violates: /delivers more than its hold covers/
  },
  {
    name: "a stream writes content before its hold is durable",
    file: "packages/application/src/inference/StreamAllowance.ts",
    correct: "if (!this.isOpen || this.refusal !== undefined) return false",
    faulty: "if (!this.isOpen) return true",
    violates: /before its hold is durable|delivers more than its hold covers/
  },
  {
    name: "an admission is refused because of cached balances",
    file: `${LEDGER}/LedgerTransactions.ts`,
    correct: "if (decisions.isRefusal) return undefined",
    faulty: "",
    violates: /refused although|reported as settled|stays open although/
  },
  {
    name: "the hold of an admission that was refused at its deadline is never released",
    file: `${LEDGER}/BatchResults.ts`,
    correct: "else if (!reply(waiting, Exit.succeed(outcome.right))) release(waiting.admission)",
    faulty: "else reply(waiting, Exit.succeed(outcome.right))",
    violates: /stays open although/
  },
  {
    name: "an admission has no deadline while another session locks a row of its user",
    file: `${LEDGER}/ContendedUsers.ts`,
    correct: "flatMap(({ admissions }) => admissions)",
    faulty: "flatMap(() => NONE)",
    violates: /the admission of r\d+ took|did not end/,
    needsLimitedKeys: true
  },
  {
    name: "an extension keeps its budget part after all limits of the key are removed",
    file: `${LEDGER}/LedgerDecisions.ts`,
    correct:
      "if (key === undefined) return { ...held, hold: { ...held.hold, key: { ...part, budgetPico: undefined } } }",
    faulty: "if (key === undefined) return held",
    violates: /is not extended although the budget/,
    needsLimitedKeys: true
  },
  {
    name: "an extension that is decided from the cache ignores a new budget",
    file: `${LEDGER}/LedgerTransactions.ts`,
    correct:
      "if (work.extensions.some(({ request }) => hasNoBudget(hold(request.admission.requestId)))) return undefined",
    faulty: "",
    violates: /ignores the budget of/,
    needsLimitedKeys: true
  }
]

const ROOT = resolve(import.meta.dirname, "../..")
const CACHE = join(ROOT, "node_modules/.cache/tollgate")
let folder: string | undefined

/** Runs the histories of this many seeds with the fault, and returns the first violation. */
export const firstViolation = async (fault: Fault, seeds: number): Promise<string | undefined> => {
  const { runHistories } = (await import(await bundleWith(fault))) as typeof Histories
  let found: string | undefined
  const onResult = ({ seed, violation }: Histories.HistoryResult) => {
    if (violation !== undefined) found = `seed ${seed}: ${violation}`
    return violation === undefined
  }
  const [first, step] = seedsFor(fault)
  await runHistories(first, seeds, onResult, undefined, step)
  return found
}

const seedsFor = ({ needsFastResponses, needsLimitedKeys }: Fault): readonly [first: number, step: number] => {
  if (needsLimitedKeys) return [LIMITED_SEEDS, LIMITED_SEEDS]
  return needsFastResponses ? [FAST_FIRST_SEED, FAST_SEEDS] : [1, 1]
}

const bundleWith = async ({ file, correct, faulty, name }: Fault): Promise<string> => {
  const path = join(ROOT, file)
  const source = readFileSync(path, "utf8")
  if (source.split(correct).length !== 2) throw new Error(`${file} does not contain this text once: ${correct}`)
  mkdirSync(CACHE, { recursive: true })
  folder ??= mkdtempSync(join(CACHE, "faults-"))
  const outfile = join(folder, `${name.replaceAll(" ", "-").slice(0, 60)}.mjs`)
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["test/simulation/Histories.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["source"],
    tsconfig: "tsconfig.json",
    plugins: [
      {
        name: "planted fault",
        setup: ({ onLoad, onResolve }) => {
          onResolve({ filter: /^(effect|pg|@effect\/)/ }, ({ path }) => ({ path, external: true }))
          onLoad({ filter: /\.ts$/ }, ({ path: loaded }) =>
            loaded === path ? { contents: source.replace(correct, () => faulty), loader: "ts" } : undefined
          )
        }
      }
    ],
    logLevel: "error"
  })
  return outfile
}

export const removeBundles = (): void => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  folder = undefined
}
