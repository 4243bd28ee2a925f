/**
 * Runs every proof and writes docs/proof.md (`npm run proof`).
 *
 *     npm run proof -- --hours 1            all proofs; the soak lasts one hour
 *     npm run proof -- --only fuzz,soak     some proofs; the other parts of the page are kept
 *     npm run proof -- --scale 0.01         a hundredth of the full numbers, to check the programs; prints the page
 *
 * Proofs that compare latencies run alone, one after another. The other proofs run two at a time, beside the soak.
 */
import { spawn } from "node:child_process"
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { buildThisCheckout, positiveNumber, readProgram, someOf } from "../support/Program.ts"
import { proofPage } from "./Page.ts"
import { type Proof, proofs, type Result, type Scale } from "./Proofs.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const PAGE = join(ROOT, "docs/proof.md")
const LOGS = join(ROOT, ".tollgate/proof")
const PROGRESS_MILLIS = 60_000

const { values } = readProgram({
  hours: positiveNumber("HOURS"),
  only: someOf(proofs.map(({ name }) => name)),
  scale: positiveNumber("FACTOR")
})
buildThisCheckout()
const factor = values.scale ?? 1
const scale: Scale = {
  of: (full) => Math.max(1, Math.round(full * factor)),
  soakMinutes: Math.max(1, Math.round((values.hours ?? 1) * 60 * factor))
}
const selected = proofs.filter(({ name }) => values.only === undefined || values.only.includes(name))

const print = (text: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
const running = new Map<string, number>()
mkdirSync(LOGS, { recursive: true })

const run = async (proof: Proof): Promise<Result> => {
  const { environment, run } = proof.command(scale)
  const millis = (proof.count?.timeShare ?? 0) * scale.soakMinutes * 60_000
  const directory = mkdtempSync(join(tmpdir(), "tollgate-proof-"))
  const figuresFile = join(directory, "figures")
  const reportFile = join(directory, "report.json")
  const args =
    "tests" in run
      ? ["node_modules/vitest/vitest.mjs", "run", "--no-isolate", ...run.tests, "--reporter=default", "--reporter=json"]
      : ["--conditions=source", "--import", "tsx", ...run.program]
  const more = "tests" in run ? [`--outputFile.json=${reportFile}`] : []
  const begunAt = performance.now()
  running.set(proof.name, begunAt)
  print(`${proof.name}: ${proof.required(scale)}`)
  const log = createWriteStream(join(LOGS, `${proof.name}.log`))
  const child = spawn(process.execPath, [...args, ...more], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...environment,
      PROOF_FIGURES: figuresFile,
      ...(millis > 0 ? { PROOF_UNTIL: String(Date.now() + millis) } : {})
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  child.stdout.pipe(log)
  child.stderr.pipe(log)
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
  running.delete(proof.name)
  const seconds = Math.round((performance.now() - begunAt) / 1_000)
  const recorded = existsSync(figuresFile) ? readFileSync(figuresFile, "utf8").trim().split("\n") : []
  const figures = [
    ...testFigures(reportFile),
    ...recorded.flatMap((line) => Object.entries(JSON.parse(line) as Record<string, string>))
  ]
  rmSync(directory, { recursive: true, force: true })
  const passed = code === 0 && reached(proof, figures)
  const failure = code === 0 ? "did not reach its number" : `FAILED, see .tollgate/proof/${proof.name}.log,`
  print(`${proof.name}: ${passed ? "passed" : failure} after ${seconds} s`)
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value} `)
  const what = "tests" in run ? `npx vitest run --no-isolate ${run.tests.join(" ")}` : programText(run.program)
  return { proof, command: `${settings.join("")}${what}`, passed, seconds, figures }
}

const reached = ({ count }: Proof, figures: Result["figures"]): boolean => {
  if (count === undefined) return true
  const value = figures.find(([name]) => name === count.figure)?.[1]
  return value !== undefined && Number(value) >= count.required(scale)
}

const programText = (args: ReadonlyArray<string>): string => `node --conditions=source --import tsx ${args.join(" ")}`

const testFigures = (file: string): ReadonlyArray<readonly [string, string]> => {
  if (!existsSync(file)) return []
  const report = JSON.parse(readFileSync(file, "utf8")) as { numPassedTests: number; numFailedTests: number }
  return [
    ["tests passed", String(report.numPassedTests)],
    ["tests failed", String(report.numFailedTests)]
  ]
}

/** Runs the proofs of `queue`, which several calls can share. */
const runFrom = async (queue: Array<Proof>): Promise<ReadonlyArray<Result>> => {
  const results: Array<Result> = []
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) results.push(await run(next))
  return results
}

const progress = setInterval(() => {
  const minutes = (since: number) => Math.round((performance.now() - since) / 60_000)
  print(`running: ${[...running].map(([name, since]) => `${name} (${minutes(since)} min)`).join(", ")}`)
}, PROGRESS_MILLIS)

const ofLoad = (load: Proof["load"]) => selected.filter((proof) => proof.load === load)
const alone = await runFrom(ofLoad("alone"))
const shared = ofLoad("beside")
const others = await Promise.all([runFrom(shared), runFrom(shared), runFrom(ofLoad("soak"))])
clearInterval(progress)
const results = [...alone, ...others.flat()]
const inOrder = selected.flatMap((proof) => results.filter((result) => result.proof === proof))
if (factor === 1) {
  const existing = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : ""
  writeFileSync(PAGE, proofPage(existing, inOrder, scale))
  print("wrote docs/proof.md")
} else process.stdout.write(proofPage("", inOrder, scale))
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1
