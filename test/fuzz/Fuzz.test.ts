import { describe, expect, it } from "vitest"
import { readCorpus } from "./Corpus.ts"
import { guidedRun } from "./CoverageFuzzer.ts"
import { faultOf, grammarRun } from "./GrammarFuzzer.ts"
import { plantedFaults } from "./PlantedFaults.ts"
import { type FuzzTarget, pure } from "./Target.ts"
import { targets } from "./Targets.ts"

const SEED = 20_261_122

describe.each(targets.map((target) => [target.name, target] as const))("the fuzz target %s", (name, target) => {
  it("finds no fault in the corpus and in random inputs", async () => {
    const open = await target.open()
    try {
      for (const { name: entry, bytes } of readCorpus(name)) {
        expect(await faultOf(open.check, bytes), `corpus/${name}/${entry}`).toBeUndefined()
      }
      const { finding } = await grammarRun(target, open, SEED, target.testInputs)
      const shown = finding && { ...finding, input: finding.input.toString("latin1") }
      expect(shown, `seed ${SEED}`).toBeUndefined()
    } finally {
      await open.close()
    }
  })
})

describe("a planted fault", () => {
  it.each(plantedFaults.map((fault) => [fault.target.name, fault.about, fault] as const))(
    "of %s is found: %s",
    async (_name, _about, { finding: expected, target }) => {
      const open = await target.open()
      try {
        const { finding } = await grammarRun(target, open, SEED, 4_000)
        expect(finding?.message).toMatch(expected)
      } finally {
        await open.close()
      }
    }
  )

  it("exists for every target", () => {
    const planted = new Set(plantedFaults.map(({ target }) => target.name))
    expect(targets.map(({ name }) => name).filter((name) => !planted.has(name))).toEqual([])
  })
})

describe("a run that is guided by coverage", () => {
  it("keeps inputs that reach new code", async () => {
    const base = targets.find(({ name }) => name === "catalog-files") as FuzzTarget
    const open = await base.open()
    const run = await guidedRun({ ...base, open: pure(() => {}) }, open, SEED, (inputs) => inputs >= 600)
    await open.close()
    expect(run.finding).toBeUndefined()
    expect(run.reached.length).toBeGreaterThan(0)
    expect(run.blocks).toBeGreaterThan(10)
  })
})
