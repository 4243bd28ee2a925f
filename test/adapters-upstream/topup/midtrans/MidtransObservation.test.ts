import { isKnown, toObservation } from "@tollgate/adapters-upstream/topup/midtrans/MidtransObservation"
import { type Transaction, timeOf } from "@tollgate/adapters-upstream/topup/midtrans/MidtransWire"
import { Idr } from "@tollgate/domain/money/Idr"
import { describe, expect, it } from "vitest"
import { aRupiahIntent, OTHER_NUMBER } from "../Payments.ts"
import { aTransaction } from "./MidtransWires.ts"

const observe = (parts: Partial<Transaction>) =>
  toObservation(aTransaction(parts), aRupiahIntent("qris"), Idr(105_000n))

describe("the Midtrans status", () => {
  const meanings = {
    pending: "Pending",
    authorize: "Pending",
    capture: "Paid",
    settlement: "Paid",
    expire: "Expired",
    cancel: "Failed",
    deny: "Failed",
    failure: "Failed",
    refund: "Refunded",
    partial_refund: "Suspicious",
    chargeback: "Refunded",
    partial_chargeback: "Suspicious"
  }
  for (const [status, tag] of Object.entries(meanings)) {
    it(`${status} means ${tag}`, () => {
      expect(isKnown(status)).toBe(true)
      expect(observe({ transaction_status: status })._tag).toBe(tag)
    })
  }

  it("of a partial refund is reported with the refunded amount", () => {
    const refunded = (refund_amount: unknown) => observe({ transaction_status: "partial_refund", refund_amount })
    expect(refunded("5000.00")).toMatchObject({ reason: "partial_refund of 5000.00" })
    for (const amount of [undefined, null, {}]) expect(refunded(amount)).toMatchObject({ reason: "partial_refund" })
  })

  it("that is unknown means Pending", () => {
    for (const status of ["", "SETTLEMENT", "paid", "settled"]) {
      expect(isKnown(status)).toBe(false)
      expect(observe({ transaction_status: status })._tag).toBe("Pending")
    }
  })

  it("capture means Paid only if the fraud status is `accept`", () => {
    expect(observe({ transaction_status: "capture", fraud_status: "challenge" })._tag).toBe("Pending")
    expect(observe({ transaction_status: "capture", fraud_status: undefined })._tag).toBe("Pending")
  })
})

describe("a payment that does not match the order", () => {
  it("is suspicious in the statuses settlement, pending and expire", () => {
    for (const transaction_status of ["settlement", "pending", "expire"]) {
      const tags = [
        { order_id: OTHER_NUMBER },
        { gross_amount: "105001.00" },
        { gross_amount: "105000.01" },
        { currency: "USD" }
      ]
      for (const parts of tags) expect(observe({ transaction_status, ...parts })._tag).toBe("Suspicious")
    }
  })
})

describe("a timestamp of Midtrans", () => {
  it("is read as Jakarta time", () => {
    expect(timeOf("2026-11-20 06:59:59")).toEqual(new Date("2026-11-19T23:59:59.000Z"))
  })

  it("is not read from a text of another form", () => {
    for (const text of [undefined, null, "", "2026-11-20T06:59:59Z", "2026-13-40 06:59:59", "yesterday"]) {
      expect(timeOf(text)).toBeUndefined()
    }
  })
})
