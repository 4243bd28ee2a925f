import { afterAll, describe, expect, it } from "vitest"
import { type HistoryResult, runHistories } from "./Histories.ts"
import { type Fault, faults, firstViolation, removeBundles } from "./PlantedFaults.ts"

/** `npm run simulate` and the proof run many more seeds. */
const SEEDS = 2_134
const FAULT_SEEDS = 200

describe("simulated histories of the ledger", () => {
  it("violate no invariant", { timeout: 300_000 }, async () => {
    const violations: Array<string> = []
    const sums = { settled: 0, settledAtOnce: 0 }
    await runHistories(1, SEEDS, (result) => {
      sums.settled += result.settled
      sums.settledAtOnce += result.settledAtOnce
      if (result.violation !== undefined) violations.push(`seed ${result.seed}: ${result.violation}`)
      return true
    })
    expect(violations).toEqual([])
    expect(sums.settled).toBeGreaterThan(SEEDS)
    expect(sums.settledAtOnce).toBeGreaterThan(SEEDS / 10)
  })

  it("have the same trace for the same seed", async () => {
    const traceOf = async (seed: number) => {
      const lines: Array<string> = []
      await runHistories(
        seed,
        1,
        () => true,
        (line) => lines.push(line)
      )
      return lines
    }
    for (const seed of [3, 44, 555]) expect(await traceOf(seed)).toEqual(await traceOf(seed))
  })

  it("do not depend on the trace", async () => {
    const resultOf = async (seed: number, trace?: () => void) => {
      const results: Array<HistoryResult> = []
      await runHistories(seed, 1, (result) => results.push(result) > 0, trace)
      return results
    }
    for (const seed of [3, 44, 544]) expect(await resultOf(seed, () => {})).toEqual(await resultOf(seed))
  })

  describe("find the fault", () => {
    afterAll(removeBundles)
    it.each<Fault>(faults)("$name", { timeout: 300_000 }, async (fault) => {
      expect(await firstViolation(fault, FAULT_SEEDS)).toMatch(fault.violates)
    })
  })
})
