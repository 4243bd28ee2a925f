import { nextLookAt } from "@tollgate/domain/topup/ReconcileSchedule"
import type { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { law } from "../../support/law.ts"
import { anOrder, instant, MINUTE, order, someTime } from "../../support/resellers.ts"

const DAY = 24 * 60 * MINUTE
const EXPIRY = 60 * MINUTE

/** The pauses between the looks at an order that stays as it is, from its making on. */
const pausesOf = (status: TopUpStatus, forMillis: number) => {
  const pauses: Array<number> = []
  for (let at = 0; at < forMillis; ) {
    const next = nextLookAt(anOrder({ status }), instant(at))
    if (next === undefined) break
    const pause = next.getTime() - instant(at).getTime()
    pauses.push(pause)
    at += pause
  }
  return pauses
}

describe("an order nobody asks about", () => {
  law("is looked at after 30 seconds to an hour, or never again", [order, someTime], (order, now) => {
    const next = nextLookAt(order, now)
    return (
      next === undefined || (next.getTime() - now.getTime() >= 30_000 && next.getTime() - now.getTime() <= 60 * MINUTE)
    )
  })

  it.each(["pending", "crediting"] as const)("is always looked at while it is %s", (status) => {
    expect(nextLookAt(anOrder({ status }), instant(365 * DAY))).toBeDefined()
  })

  it("is looked at every 30 seconds while it can be paid or is to be credited", () => {
    expect(new Set(pausesOf("pending", EXPIRY))).toEqual(new Set([30_000]))
    expect(new Set(pausesOf("crediting", 2 * DAY))).toEqual(new Set([30_000]))
  })

  it("is never looked at once it is credited", () => {
    expect(nextLookAt(anOrder({ status: "credited" }), instant(0))).toBeUndefined()
  })

  it.each(["expired", "failed"] as const)("is looked at for a week once it is %s, less and less often", (status) => {
    const pauses = pausesOf(status, 30 * DAY)
    const total = pauses.reduce((a, b) => a + b, 0)
    expect(total).toBeGreaterThan(EXPIRY + 7 * DAY)
    expect(total).toBeLessThan(EXPIRY + 7 * DAY + 61 * MINUTE)
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b))
    expect(pauses.at(-1)).toBe(60 * MINUTE)
    expect(pauses.length).toBeLessThan(500)
  })

  law("stays due no longer than a week once it is over", [FastCheck.integer({ min: 0, max: 60 * DAY })], (after) => {
    const next = nextLookAt(anOrder({ status: "expired" }), instant(EXPIRY + after))
    return (next === undefined) === after > 7 * DAY
  })
})
