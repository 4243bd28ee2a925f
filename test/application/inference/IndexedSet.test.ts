import { type Indexed, IndexedSet } from "@tollgate/application/inference/IndexedSet"
import { FastCheck } from "effect"
import { expect, it } from "vitest"

it("an IndexedSet contains the members that were added and not deleted, for any order of calls", () => {
  const calls = FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat({ max: 9 })), { maxLength: 80 })
  FastCheck.assert(
    FastCheck.property(calls, (steps) => {
      const members: ReadonlyArray<Indexed> = Array.from({ length: 10 }, () => ({ index: -1 }))
      const set = new IndexedSet<Indexed>()
      const expected = new Set<Indexed>()
      for (const [adds, position] of steps) {
        const member = members[position]
        if (member === undefined) continue
        if (adds) {
          set.add(member)
          expected.add(member)
        } else {
          set.delete(member)
          expected.delete(member)
        }
        const visited = new Set<Indexed>()
        set.each((each) => visited.add(each))
        expect([set.size, visited]).toEqual([expected.size, expected])
      }
    })
  )
})

it("an IndexedSet visits every member, even if each member is deleted during its visit", () => {
  const set = new IndexedSet<Indexed>()
  for (let i = 0; i < 5; i++) set.add({ index: -1 })
  let visited = 0
  set.each((member) => {
    visited += 1
    set.delete(member)
  })
  expect([visited, set.size]).toEqual([5, 0])
})
