import { type Indexed, IndexedSet } from "@tollgate/application/inference/IndexedSet"
import { FastCheck } from "effect"
import { expect, it } from "vitest"

it("contains the members that were added and not deleted, in any order of calls", () => {
  const moves = FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat({ max: 9 })), { maxLength: 80 })
  FastCheck.assert(
    FastCheck.property(moves, (steps) => {
      const people: ReadonlyArray<Indexed> = Array.from({ length: 10 }, () => ({ index: -1 }))
      const roster = new IndexedSet<Indexed>()
      const expected = new Set<Indexed>()
      for (const [comes, who] of steps) {
        const member = people[who]
        if (member === undefined) continue
        if (comes) {
          roster.add(member)
          expected.add(member)
        } else {
          roster.delete(member)
          expected.delete(member)
        }
        const seen = new Set<Indexed>()
        roster.each((each) => seen.add(each))
        expect([roster.size, seen]).toEqual([expected.size, expected])
      }
    })
  )
})

it("visits everybody, also when each leaves in its turn", () => {
  const roster = new IndexedSet<Indexed>()
  for (let i = 0; i < 5; i++) roster.add({ index: -1 })
  let visited = 0
  roster.each((member) => {
    visited += 1
    roster.delete(member)
  })
  expect([visited, roster.size]).toEqual([5, 0])
})
