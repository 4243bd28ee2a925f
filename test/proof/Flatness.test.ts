import { describe, expect, it } from "vitest"
import { flatness } from "./Flatness.ts"

describe("a series of samples", () => {
  it("is flat if the medians of its halves are equal", () => {
    for (const warmUp of [
      [10, 60],
      [900, 400]
    ]) {
      expect(flatness([...warmUp, 100, 104, 96, 100, 100, 98, 101, 100], 0.1)).toEqual({
        before: 100,
        after: 100,
        isFlat: true
      })
    }
  })

  it("is not flat if it grows by more than the tolerance", () => {
    const warmUp = [10, 60]
    expect(flatness([...warmUp, 100, 100, 100, 100, 112, 112, 112, 112], 0.1).isFlat).toBe(false)
    expect(flatness([...warmUp, 100, 100, 100, 100, 109, 109, 109, 109], 0.1).isFlat).toBe(true)
  })

  it("is not flat if it has fewer than two samples", () => {
    expect(flatness([], 0.1).isFlat).toBe(false)
    expect(flatness([100], 0.1).isFlat).toBe(false)
  })
})
