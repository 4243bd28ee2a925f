import { IndexedSet, type Member } from "@tollgate/application/inference/IndexedSet"
import { FastCheck } from "effect"
import { expect, it } from "vitest"

it("has whoever came and did not leave, however often they did either", () => {
  const moves = FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat({ max: 9 })), { maxLength: 80 })
  FastCheck.assert(
    FastCheck.property(moves, (steps) => {
      const people: ReadonlyArray<Member> = Array.from({ length: 10 }, () => ({ place: -1 }))
      const roster = new IndexedSet<Member>()
      const expected = new Set<Member>()
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
        const seen = new Set<Member>()
        roster.each((each) => seen.add(each))
        expect([roster.size, seen]).toEqual([expected.size, expected])
      }
    })
  )
})

it("visits everybody, also when each leaves in its turn", () => {
  const roster = new IndexedSet<Member>()
  for (let i = 0; i < 5; i++) roster.add({ place: -1 })
  let visited = 0
  roster.each((member) => {
    visited += 1
    roster.delete(member)
  })
  expect([visited, roster.size]).toEqual([5, 0])
})
