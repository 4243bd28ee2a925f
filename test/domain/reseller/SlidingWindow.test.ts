import { decideHit, type Limit } from "@tollgate/domain/reseller/SlidingWindow"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { instant } from "../../support/resellers.ts"

const limit: Limit = { max: 5, windowMillis: 60_000 }
const pauses = FastCheck.array(
  FastCheck.oneof(FastCheck.integer({ min: 0, max: 9_000 }), FastCheck.integer({ min: 0, max: 70_000 })),
  { maxLength: 60 }
)

const allowedAfter = (pauses: ReadonlyArray<number>) => {
  let at = 0
  let hits: ReadonlyArray<Date> = []
  const allowed: Array<number> = []
  const refused: Array<{ readonly at: number; readonly retryAfterSeconds: number }> = []
  for (const pause of pauses) {
    at += pause
    const decided = decideHit(hits, limit, instant(at))
    if (Either.isRight(decided)) {
      hits = decided.right
      allowed.push(at)
    } else refused.push({ at, retryAfterSeconds: decided.left.retryAfterSeconds })
  }
  return { allowed, refused, hits }
}

describe("a sliding window", () => {
  property("admits at most its limit of events in any 60 seconds", [pauses], (pauses) => {
    const { allowed } = allowedAfter(pauses)
    return allowed.every((from) => allowed.filter((at) => at >= from && at <= from + 60_000).length <= 5)
  })

  property("refuses an event only if the window is full", [pauses], (pauses) => {
    const { allowed, refused } = allowedAfter(pauses)
    return refused.every(({ at }) => allowed.filter((hit) => hit <= at && at - hit <= 60_000).length === 5)
  })

  property("returns the time after which an event is admitted", [pauses], (pauses) => {
    const { allowed, refused } = allowedAfter(pauses)
    const last = refused.at(-1)
    if (last === undefined) return true
    const before = allowed.filter((at) => at <= last.at).map(instant)
    const retryAt = last.at + last.retryAfterSeconds * 1_000
    const then = decideHit(before, limit, instant(retryAt))
    const earlier = decideHit(before, limit, instant(retryAt - 1_000))
    return last.retryAfterSeconds >= 1 && Either.isRight(then) && Either.isLeft(earlier)
  })

  property("stores at most the timestamps of 5 events", [pauses], (pauses) => allowedAfter(pauses).hits.length <= 5)

  it("includes an event that is exactly 60 seconds old", () => {
    const hits = [0, 1, 2, 3, 4].map(instant)
    expect(Either.isLeft(decideHit(hits, limit, instant(60_000)))).toBe(true)
    expect(Either.isRight(decideHit(hits, limit, instant(60_001)))).toBe(true)
  })

  it("counts an event in the future", () => {
    const ahead = [1, 2, 3, 4, 5].map((second) => instant(second * 1_000))
    expect(Either.isLeft(decideHit(ahead, limit, instant(0)))).toBe(true)
  })

  it("counts no event that is more than 60 seconds in the future", () => {
    const ahead = [1, 2, 3, 4, 5].map((hour) => instant(hour * 3_600_000))
    expect(Either.getOrThrow(decideHit(ahead, limit, instant(0)))).toEqual([instant(0)])
    const slightly = [60_000, 60_000, 60_000, 60_000, 60_000].map(instant)
    expect(Either.isLeft(decideHit(slightly, limit, instant(0)))).toBe(true)
    expect(Either.isRight(decideHit(slightly, limit, instant(-1)))).toBe(true)
  })
})
