/**
 * Simulates histories of the ledger (`npm run simulate`).
 *
 *     --seeds N     the number of histories, rounded up to a multiple of 200; 100,000 if neither a number nor a time is
 *                   given
 *     --minutes M   begins no histories after this time
 *     --from F      the first seed; 1 if it is not given
 *     --seed S      runs the history of one seed and prints what happens in it
 *
 * Without --seed, prints a table at the end. The exit code is 1 if a history violates an invariant.
 */
import { fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { isProofOver, recordFigures } from "../support/Figures.ts"
import { positiveNumber, readProgram, wholeNumber } from "../support/Program.ts"
import { runHistories } from "./Histories.ts"

interface Sums {
  histories: number
  events: number
  requests: number
  settlements: number
  violations: number
}

const CHUNK = 200
const PROGRESS_MILLIS = 10_000
/** The environment variable of the child processes that run the histories. */
const WORKER = "SIMULATION_WORKER"

const none = (): Sums => ({ histories: 0, events: 0, requests: 0, settlements: 0, violations: 0 })

const work = (): void => {
  process.on("message", (first: number) => {
    const sums = none()
    const violations: Array<string> = []
    void runHistories(first, CHUNK, ({ seed, events, requests, settled, violation }) => {
      sums.histories += 1
      sums.events += events
      sums.requests += requests
      sums.settlements += settled
      if (violation !== undefined) {
        sums.violations += 1
        violations.push(`seed ${seed}: ${violation}`)
      }
      return true
    }).then(() => process.send?.({ sums, violations }))
  })
  process.send?.({ sums: none(), violations: [] })
}

const simulate = async (firstSeed: number, seeds: number, minutes: number): Promise<void> => {
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1_000
  const total = none()
  let next = firstSeed
  const isOver = () => next >= firstSeed + seeds || seconds() > minutes * 60 || isProofOver()
  const progress = setInterval(() => {
    console.log(`${total.histories} histories in ${seconds().toFixed(0)} s, ${total.violations} violations`)
  }, PROGRESS_MILLIS)
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const worker = fork(import.meta.filename, { execArgv: process.execArgv, env: { ...process.env, [WORKER]: "1" } })
      worker.on("message", ({ sums, violations }: { sums: Sums; violations: ReadonlyArray<string> }) => {
        for (const name of Object.keys(sums) as ReadonlyArray<keyof Sums>) total[name] += sums[name]
        for (const violation of violations) console.log(violation)
        if (isOver()) worker.disconnect()
        else {
          worker.send(next)
          next += CHUNK
        }
      })
      worker.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with code ${code}`))))
    })
  await Promise.all(Array.from({ length: availableParallelism() }, one))
  clearInterval(progress)
  console.log(`
| | |
|---|---|
| first seed | ${firstSeed} |
| histories | ${total.histories} |
| steps | ${total.events} |
| requests | ${total.requests} |
| settlements | ${total.settlements} |
| seconds | ${seconds().toFixed(0)} |
| histories per second | ${(total.histories / seconds()).toFixed(1)} |
| violations | ${total.violations} |`)
  recordFigures({
    histories: total.histories,
    steps: total.events,
    "simulated requests": total.requests,
    settlements: total.settlements,
    violations: total.violations,
    "first seed": firstSeed
  })
  if (total.violations > 0) process.exitCode = 1
}

const replay = (seed: number): Promise<void> =>
  runHistories(
    seed,
    1,
    ({ events, requests, settled, violation }) => {
      console.log(`seed ${seed}: ${events} steps, ${requests} requests, ${settled} settlements`)
      console.log(violation === undefined ? "all invariants hold" : `VIOLATION: ${violation}`)
      if (violation !== undefined) process.exitCode = 1
      return true
    },
    console.log
  )

const { from, minutes, seed, seeds } = readProgram({
  seeds: wholeNumber("N", 1),
  minutes: positiveNumber("M"),
  from: wholeNumber("F"),
  seed: wholeNumber("S")
}).values
if (process.env[WORKER] !== undefined) work()
else if (seed !== undefined) await replay(seed)
else {
  const count = seeds ?? (minutes === undefined ? 100_000 : Number.POSITIVE_INFINITY)
  await simulate(from ?? 1, count, minutes ?? Number.POSITIVE_INFINITY)
}
