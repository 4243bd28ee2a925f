import { isKnown, toObservation } from "@tollgate/adapters-upstream/topup/tripay/TripayObservation"
import { Idr } from "@tollgate/domain/money/Idr"
import { describe, expect, it } from "vitest"
import { ORDER_NUMBER, OTHER_NUMBER } from "../Payments.ts"
import { REFERENCE } from "./TripayWires.ts"

const requested = { reference: REFERENCE, orderNumber: ORDER_NUMBER, total: Idr(50_000n) }
const observe = (status: string, parts: object = {}) =>
  toObservation({ reference: REFERENCE, merchant_ref: ORDER_NUMBER, amount: "50000", status, ...parts }, requested)

describe("the Tripay status", () => {
  const meanings = { UNPAID: "Pending", PAID: "Paid", EXPIRED: "Expired", FAILED: "Failed", REFUND: "Refunded" }
  for (const [status, tag] of Object.entries(meanings)) {
    it(`${status} means ${tag}`, () => {
      expect(isKnown(status)).toBe(true)
      expect(observe(status)._tag).toBe(tag)
    })
  }

  it("that is unknown means Pending", () => {
    for (const status of ["", "paid", "SETTLED"]) {
      expect(isKnown(status)).toBe(false)
      expect(observe(status)._tag).toBe("Pending")
    }
  })
})

describe("a payment that does not match the order", () => {
  it("is suspicious in the statuses PAID, UNPAID and EXPIRED", () => {
    const others = [
      { reference: "T0001" },
      { merchant_ref: OTHER_NUMBER },
      { merchant_ref: null },
      { amount: "50001" },
      { amount: "51100" },
      { amount: "5e4" }
    ]
    for (const status of ["PAID", "UNPAID", "EXPIRED"]) {
      for (const other of others) expect(observe(status, other)._tag).toBe("Suspicious")
    }
  })
})
