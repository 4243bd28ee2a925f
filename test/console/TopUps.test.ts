import { describe, expect, it } from "vitest"
import { canBePaid, pollMillisOf, stateOf } from "../../apps/console/src/api/OrderState.ts"

type Order = Parameters<typeof stateOf>[0]

const order = (members: Omit<Order, "expires_at">, hoursLeft: number): Order => ({
  expires_at: new Date(Date.now() + hoursLeft * 3_600_000).toISOString(),
  ...members
})

const part = { expected_raw: "10", received_raw: "4" }

describe("the page of an order", () => {
  it("asks for the missing amount of an underpaid order only until the deadline", () => {
    const state = stateOf(order({ status: "pending", ...part }, 1))
    expect([state, canBePaid(state), pollMillisOf(state)]).toEqual(["underpaid", true, 4_000])
    for (const status of ["pending", "expired"] as const) {
      const late = stateOf(order({ status, ...part }, -1))
      expect([late, canBePaid(late), pollMillisOf(late)]).toEqual(["underpaidLate", false, 30_000])
    }
  })

  it("asks for no payment of an underpaid order that expired before its deadline", () => {
    expect(stateOf(order({ status: "expired", ...part }, 1))).toBe("underpaidLate")
  })

  it("reads an unpaid order often until the deadline, then rarely, and a final order not again", () => {
    const pauses = [
      order({ status: "pending" }, 1),
      order({ status: "crediting", ...part }, -1),
      order({ status: "pending" }, -1),
      order({ status: "expired" }, -1),
      order({ status: "credited" }, 1),
      order({ status: "failed" }, 1)
    ].map((each) => pollMillisOf(stateOf(each)))
    expect(pauses).toEqual([4_000, 4_000, 30_000, 30_000, undefined, undefined])
  })
})
