import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import { firstRefreshAt, nextRefreshAt } from "@tollgate/domain/topup/RefreshSchedule"
import type { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { anOrder, aRupiahOrder, instant, MINUTE, order, someTime } from "../../support/resellers.ts"

const DAY = 24 * 60 * MINUTE
const EXPIRY = 60 * MINUTE

/** Returns the pauses between the refreshes of an order that does not change, from its creation. */
const pausesOf = (status: TopUpStatus, forMillis: number, method: PaymentMethod = "crypto_bep20") => {
  const pauses: Array<number> = []
  for (let at = 0; at < forMillis; ) {
    const next = nextRefreshAt(
      anOrder({ method, status, creditedAt: status === "credited" ? instant(0) : undefined }),
      instant(at)
    )
    if (next === undefined) break
    const pause = next.getTime() - instant(at).getTime()
    pauses.push(pause)
    at += pause
  }
  return pauses
}

describe("a refresh schedule", () => {
  property("has pauses of 30 seconds to six hours", [order, someTime], (order, now) => {
    const next = nextRefreshAt(order, now)
    const longest = order.status === "credited" ? 6 * 60 * MINUTE : 60 * MINUTE
    return next === undefined || (next.getTime() - now.getTime() >= 30_000 && next.getTime() - now.getTime() <= longest)
  })

  it("begins 30 seconds after the order's creation", () => {
    expect(firstRefreshAt(instant(0))).toEqual(instant(30_000))
  })

  it.each(["pending", "crediting"] as const)("does not end while the order is %s", (status) => {
    expect(nextRefreshAt(anOrder({ status }), instant(365 * DAY))).toBeDefined()
  })

  it("has pauses of 30 seconds while the order is open", () => {
    expect(new Set(pausesOf("pending", EXPIRY))).toEqual(new Set([30_000]))
    expect(new Set(pausesOf("crediting", 2 * DAY))).toEqual(new Set([30_000]))
  })

  it.each(["qris", "hosted_qris"] as const)("ends when an order paid by %s is credited", (method) => {
    const credited = aRupiahOrder({ method, status: "credited", creditedAt: instant(0) })
    expect(nextRefreshAt(credited, instant(0))).toBeUndefined()
  })

  it.each(["crypto", "crypto_bep20"] as const)(
    "continues for a week after the crediting of an order paid by %s",
    (method) => {
      const credited = anOrder({ method, status: "credited", creditedAt: instant(0) })
      expect(nextRefreshAt(credited, instant(0))).toEqual(instant(MINUTE))
      expect(nextRefreshAt(credited, instant(7 * DAY + 1))).toBeUndefined()
      const pauses = pausesOf("credited", 30 * DAY, method)
      const total = pauses.reduce((a, b) => a + b, 0)
      expect(total).toBeGreaterThan(7 * DAY)
      expect(total).toBeLessThan(7 * DAY + 6 * 60 * MINUTE + 1)
      expect(pauses).toEqual([...pauses].sort((a, b) => a - b))
      expect(pauses.at(-1)).toBe(6 * 60 * MINUTE)
      expect(pauses.length).toBeLessThan(70)
    }
  )

  it.each(["expired", "failed"] as const)("continues for a week after the expiry of an order that is %s", (status) => {
    const pauses = pausesOf(status, 30 * DAY)
    const total = pauses.reduce((a, b) => a + b, 0)
    expect(total).toBeGreaterThan(EXPIRY + 7 * DAY)
    expect(total).toBeLessThan(EXPIRY + 7 * DAY + 61 * MINUTE)
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b))
    expect(pauses.at(-1)).toBe(60 * MINUTE)
    expect(pauses.length).toBeLessThan(500)
  })

  property(
    "ends a week after the expiry of an expired order",
    [FastCheck.integer({ min: 0, max: 60 * DAY })],
    (after) => {
      const next = nextRefreshAt(anOrder({ status: "expired" }), instant(EXPIRY + after))
      return (next === undefined) === after > 7 * DAY
    }
  )
})
