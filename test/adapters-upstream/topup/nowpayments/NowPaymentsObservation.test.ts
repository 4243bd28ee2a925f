import { combine, isKnown, toObservation } from "@tollgate/adapters-upstream/topup/nowpayments/NowPaymentsObservation"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { ORDER_NUMBER, OTHER_NUMBER } from "../Payments.ts"

const requested = { orderNumber: ORDER_NUMBER, currency: "usdttrc20", amount: UsdMicro(25_000_123n) }
const observe = (payment_status: string, parts: object = {}) =>
  toObservation(
    {
      payment_id: "1",
      payment_status,
      price_currency: "usd",
      pay_amount: "25.000123",
      pay_currency: "USDTTRC20",
      order_id: ORDER_NUMBER,
      actually_paid: "25.000123",
      ...parts
    },
    requested
  )

describe("the NOWPayments status", () => {
  const meanings = {
    waiting: "Pending",
    confirming: "Pending",
    confirmed: "Pending",
    sending: "Pending",
    partially_paid: "Pending",
    finished: "Paid",
    failed: "Failed",
    refunded: "Refunded",
    expired: "Expired"
  }
  for (const [status, tag] of Object.entries(meanings)) {
    it(`${status} means ${tag}`, () => {
      expect(isKnown(status)).toBe(true)
      expect(observe(status)._tag).toBe(tag)
    })
  }

  it("that is unknown means Pending", () => {
    for (const status of ["", "FINISHED", "wrong_asset_confirmed"]) {
      expect(isKnown(status)).toBe(false)
      expect(observe(status)._tag).toBe("Pending")
    }
  })
})

describe("a finished payment", () => {
  it("is paid if more than the amount due arrived", () => {
    expect(observe("finished", { actually_paid: "30.0000009" })).toMatchObject({
      _tag: "Paid",
      received: { receivedUsdMicro: 30_000_000n }
    })
  })

  it("is suspicious if less than the amount due arrived", () => {
    for (const actually_paid of ["25.000122", "25.0001229999999", "0", "", undefined, null, "a lot", "-26"]) {
      expect(observe("finished", { actually_paid })._tag).toBe("Suspicious")
    }
  })

  it("has a payment time if `updated_at` can be parsed", () => {
    expect(observe("finished", { updated_at: "2026-11-20T04:41:12.000Z" })).toMatchObject({
      paidAt: new Date("2026-11-20T04:41:12.000Z")
    })
    for (const updated_at of [undefined, null, "", "yesterday", "1795149000"]) {
      expect(observe("finished", { updated_at })).toMatchObject({ _tag: "Paid", paidAt: undefined })
    }
  })
})

describe("a payment that does not match the order", () => {
  it("is suspicious in the statuses finished, waiting and expired", () => {
    const others = [
      { order_id: OTHER_NUMBER },
      { order_id: null },
      { pay_currency: "usdterc20" },
      { price_currency: "eur" },
      { pay_amount: "25.000124" },
      { pay_amount: "25.0001230001" },
      { parent_payment_id: "5745459419" }
    ]
    for (const status of ["finished", "waiting", "expired"]) {
      for (const other of others) expect(observe(status, other)._tag).toBe("Suspicious")
    }
  })
})

describe("a suspicious payment", () => {
  it("reports the received amount in the requested coin", () => {
    for (const other of [{ actually_paid: "25.000122" }, { pay_amount: "26", actually_paid: "25.000122" }]) {
      expect(observe("finished", other)).toMatchObject({
        _tag: "Suspicious",
        received: { receivedUsdMicro: 25_000_122n }
      })
    }
  })

  it("reports no amount for another order or coin", () => {
    for (const other of [{ order_id: OTHER_NUMBER }, { order_id: null }, { pay_currency: "trx" }]) {
      expect(observe("finished", other)).toMatchObject({ _tag: "Suspicious", received: undefined })
    }
  })
})

describe("the combined payments of an order", () => {
  const tags = ["Paid", "Suspicious", "Pending", "Refunded", "Failed", "Expired"] as const
  const anObservation = FastCheck.constantFrom(...tags).map(
    (_tag): PaymentObservation =>
      _tag === "Paid"
        ? { _tag, paidAt: undefined, received: { receivedRaw: undefined, receivedUsdMicro: UsdMicro(3n) } }
        : _tag === "Suspicious" || _tag === "Failed" || _tag === "Refunded"
          ? { _tag, reason: "because", received: undefined }
          : { _tag, received: undefined }
  )

  it("have the status with the highest precedence", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(anObservation, { minLength: 1, maxLength: 8 }), (payments) => {
        const expected = tags.find((tag) => payments.some(({ _tag }) => _tag === tag))
        const together = combine(payments)
        expect(together._tag).toBe(expected)
        const hasRefund = payments.some(({ _tag }) => _tag === "Refunded")
        expect("alert" in together).toBe(expected === "Pending" && hasRefund)
        const paid = payments.filter(({ _tag }) => _tag === "Paid").length
        expect(together.received?.receivedUsdMicro ?? 0n).toBe(BigInt(paid) * 3n)
      })
    )
  })
})
