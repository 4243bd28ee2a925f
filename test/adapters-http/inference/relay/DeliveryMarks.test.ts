import { DeliveryMarks } from "@tollgate/adapters-http/inference/relay/DeliveryMarks"
import { FastCheck } from "effect"
import { expect, it } from "vitest"

it("DeliveryMarks removes marks in the order in which they were added", () => {
  const steps = FastCheck.array(FastCheck.integer({ min: -30, max: 30 }), { maxLength: 60 })
  FastCheck.assert(
    FastCheck.property(steps, (bursts) => {
      const marks = new DeliveryMarks()
      const expected: Array<readonly [number, number]> = []
      let written = 0
      for (const burst of bursts) {
        for (let i = 0; i < burst; i++) {
          written += 1
          marks.push(written * 3, written)
          expected.push([written * 3, written])
        }
        for (let i = 0; i > burst; i--) {
          const mark = expected.shift()
          expect(marks.shift()).toBe(mark !== undefined)
          if (mark !== undefined) expect([marks.characters, marks.deltas]).toEqual(mark)
        }
        expect(marks.isEmpty).toBe(expected.length === 0)
      }
    })
  )
})
