/**
 * `npm run fuzz` checks many random inputs of each target. Half of the time, or of the inputs, is for the grammar and
 * the corpus, the other half for inputs that are guided by coverage. It exits with status 1 if an input shows a fault.
 *
 *     npm run fuzz -- --minutes 10                      all targets
 *     npm run fuzz -- --target qris --inputs 1000000    one target, this number of inputs
 *     npm run fuzz -- --target qris --seed 7            the same inputs again
 *     npm run fuzz -- --target qris --input FILE        one input, for example one that showed a fault
 *     npm run fuzz -- --target qris --keep              also writes the inputs that reached new code
 */
import { readFileSync } from "node:fs"
import { proofMillis, recordFigures } from "../support/Figures.ts"
import { path, positiveNumber, readProgram, refuse, someOf, wholeNumber } from "../support/Program.ts"
import { saveInput } from "./Corpus.ts"
import { guidedRun } from "./CoverageFuzzer.ts"
import { type Finding, faultOf, grammarRun } from "./GrammarFuzzer.ts"
import type { FuzzTarget, OpenTarget } from "./Target.ts"
import { targets } from "./Targets.ts"

const { values } = readProgram({
  minutes: positiveNumber("MINUTES"),
  inputs: wholeNumber("N", 1),
  target: someOf(targets.map(({ name }) => name)),
  seed: wholeNumber("SEED"),
  input: path("FILE"),
  keep: "flag"
})
if (values.input !== undefined && values.target?.length !== 1) refuse("--input FILE needs --target with one target.")
const DEFAULT_MINUTES = 10

interface Row {
  readonly target: string
  readonly inputs: number
  readonly perSecond: number
  readonly blocks: number
  readonly findings: number
}

/** The number of inputs of the grammar between two checks of the time. */
const RUN_SIZE = 500
const PROGRESS_MILLIS = 10_000

const seed = values.seed ?? Math.floor(Math.random() * 1e9)
const chosen = targets.filter(({ name }) => values.target === undefined || values.target.includes(name))
const say = (line: string) => process.stdout.write(`${line}\n`)

const report = (target: FuzzTarget, { input, message }: Finding): void => {
  const path = saveInput(target.name, "finding", input)
  say(`FINDING in ${target.name}: ${message.split("\n").slice(0, 4).join("\n  ")}`)
  say(`  ${input.length} bytes: ${JSON.stringify(input.subarray(0, 300).toString("latin1"))}`)
  say(`  reproduce: npm run fuzz -- --target ${target.name} --input ${path}`)
}

const runTarget = async (target: FuzzTarget, millis: number, maxInputs: number): Promise<Row> => {
  const open = await target.open()
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  let inputs = 0
  let findings = 0
  let saidAt = 0
  const progress = (now: number) => {
    if (elapsed() - saidAt < PROGRESS_MILLIS) return
    saidAt = elapsed()
    say(`${target.name}: ${now} inputs in ${Math.round(saidAt / 1000)} s, ${findings} findings`)
  }
  for (let run = 0; elapsed() < millis / 2 && inputs < maxInputs / 2; run++) {
    const { inputs: checked, finding } = await grammarRun(target, open, seed + run, RUN_SIZE)
    inputs += checked
    if (finding !== undefined) {
      findings += 1
      report(target, finding)
      if (findings >= MAX_FINDINGS) break
    }
    progress(inputs)
  }
  const guided = await guidedRun(target, open, seed, (checked) => {
    progress(inputs + checked)
    return elapsed() >= millis || inputs + checked >= maxInputs
  })
  inputs += guided.inputs
  if (guided.finding !== undefined) {
    findings += 1
    report(target, guided.finding)
  }
  if (values.keep) for (const input of guided.reached) saveInput(target.name, "reached", input)
  const perSecond = Math.round(inputs / (elapsed() / 1000))
  await open.close()
  return { target: target.name, inputs, perSecond, blocks: guided.blocks, findings }
}

/** The number of findings of one target after which the inputs of its grammar end. */
const MAX_FINDINGS = 3

const checkOne = async (target: FuzzTarget, open: OpenTarget, path: string): Promise<boolean> => {
  const fault = await faultOf(open.check, readFileSync(path))
  say(fault === undefined ? `${target.name}: no fault` : `${target.name}: ${fault}`)
  await open.close()
  return fault === undefined
}

const main = async (): Promise<boolean> => {
  const [first] = chosen
  if (first !== undefined && values.input !== undefined) return checkOne(first, await first.open(), values.input)
  say(`seed ${seed}`)
  const rows: Array<Row> = []
  const maxInputs = values.inputs ?? Number.POSITIVE_INFINITY
  const wholeMillis = values.inputs === undefined ? (values.minutes ?? DEFAULT_MINUTES) * 60_000 : proofMillis()
  const millis = wholeMillis / chosen.length
  // The inputs are divided in proportion to `testInputs`, which is larger for faster targets.
  const parts = chosen.reduce((sum, { testInputs }) => sum + testInputs, 0)
  for (const target of chosen) rows.push(await runTarget(target, millis, (maxInputs * target.testInputs) / parts))
  console.table(rows)
  const inputs = rows.reduce((sum, row) => sum + row.inputs, 0)
  const findings = rows.reduce((sum, row) => sum + row.findings, 0)
  say(`${inputs} inputs, seed ${seed}`)
  recordFigures({ inputs, targets: rows.length, findings, seed })
  return findings === 0
}

process.exit((await main()) ? 0 : 1)
