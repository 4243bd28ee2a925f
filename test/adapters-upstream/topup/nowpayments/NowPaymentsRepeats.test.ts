import { combine, toObservation } from "@tollgate/adapters-upstream/topup/nowpayments/NowPaymentsObservation"
import {
  type OwnPayment,
  repeatsOf,
  withRepeats
} from "@tollgate/adapters-upstream/topup/nowpayments/NowPaymentsRepeats"
import type { Payment } from "@tollgate/adapters-upstream/topup/nowpayments/NowPaymentsWire"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { describe, expect, it } from "vitest"
import { ORDER_NUMBER, OTHER_NUMBER } from "../Payments.ts"

const ADDRESS = "TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r"
const AMOUNT = UsdMicro(25_000_000n)

const own = (status: string, actually_paid: string, parts: Partial<Payment> = {}): OwnPayment => ({
  payment: {
    payment_id: "1",
    payment_status: status,
    price_currency: "usd",
    pay_amount: "25",
    pay_currency: "usdttrc20",
    pay_address: ADDRESS,
    order_id: ORDER_NUMBER,
    actually_paid,
    ...parts
  },
  requested: { orderNumber: ORDER_NUMBER, currency: "usdttrc20", amount: AMOUNT }
})

const repeat = (status: string, actually_paid: string, parts: Partial<Payment> = {}): Payment => ({
  ...own(status, actually_paid).payment,
  payment_id: "2",
  parent_payment_id: "1",
  order_id: null,
  pay_amount: actually_paid,
  updated_at: "2026-11-20T04:41:12.000Z",
  payin_hash: "0xbeef",
  ...parts
})

const observed = (of: OwnPayment, ...repeats: ReadonlyArray<Payment>) =>
  withRepeats(combine([toObservation(of.payment, of.requested)]), [of], repeats)

describe("a repeated payment", () => {
  it.each(["finished", "partially_paid"])(
    "with the status %s is received but does not complete the order",
    (status) => {
      expect(observed(own("partially_paid", "10"), repeat(status, "15"))).toMatchObject({
        _tag: "Pending",
        received: { receivedUsdMicro: AMOUNT },
        evidence: { transactions: ["0xbeef"], remarks: [`payment 2 repeats payment 1: 15 usdttrc20, ${status}`] }
      })
    }
  )

  it("of a paid order is added to the received amount", () => {
    expect(observed(own("finished", "25"), repeat("finished", "25"))).toMatchObject({
      _tag: "Paid",
      received: { receivedUsdMicro: 50_000_000n }
    })
  })

  it.each(["waiting", "confirming", "confirmed", "sending"])("is ignored while its status is %s", (status) => {
    const part = own("partially_paid", "10")
    expect(observed(part, repeat(status, "15"))).toEqual(combine([toObservation(part.payment, part.requested)]))
  })

  it.each([
    ["in another coin", { pay_currency: "trx" }, "not counted: usdttrc20 was requested"],
    ["of another order", { order_id: OTHER_NUMBER }, `not counted: it belongs to the order ${OTHER_NUMBER}`]
  ])("%s is not counted", (_, parts, remark) => {
    const { _tag, received, evidence } = observed(own("partially_paid", "10"), repeat("finished", "1500", parts))
    expect({ _tag, received: received?.receivedUsdMicro }).toEqual({ _tag: "Pending", received: 10_000_000n })
    expect(evidence?.remarks).toEqual([expect.stringContaining(remark)])
  })

  it("is not counted if it was refunded", () => {
    const { _tag, received, evidence } = observed(own("expired", "0"), repeat("refunded", "25"))
    expect({ _tag, received }).toEqual({ _tag: "Expired", received: undefined })
    expect(evidence?.remarks).toEqual(["payment 2 repeats payment 1: 25 usdttrc20, refunded"])
  })

  it("is ignored if it repeats a payment of another order", () => {
    const paid = own("finished", "25")
    const alone = combine([toObservation(paid.payment, paid.requested)])
    for (const parts of [
      { parent_payment_id: "9" },
      { parent_payment_id: null, pay_address: "elsewhere" },
      { parent_payment_id: null, pay_address: null }
    ]) {
      expect(observed(paid, repeat("finished", "25", parts))).toEqual(alone)
    }
  })

  it("is recognised without the id of the original payment", () => {
    for (const [of, parts] of [
      [own("finished", "25"), { parent_payment_id: null }],
      [own("finished", "25", { payment_extra_ids: ["2"] }), { parent_payment_id: undefined, pay_address: null }]
    ] as const) {
      expect(observed(of, repeat("finished", "5", parts)).received?.receivedUsdMicro).toBe(30_000_000n)
    }
  })
})

describe("the repeated payments to request", () => {
  it("are valid ids without duplicates, and at most twenty", () => {
    const of = own("finished", "25", { payment_extra_ids: ["2", "3", "1", 4, "../5"] })
    expect(repeatsOf([of], ["3", "6", "1"])).toEqual(["3", "6", "2"])
    for (const nothing of [null, undefined, "", {}]) {
      expect(repeatsOf([own("finished", "25", { payment_extra_ids: nothing })], [])).toEqual([])
    }
    expect(
      repeatsOf(
        [of],
        Array.from({ length: 30 }, (_, i) => `${100 + i}`)
      )
    ).toHaveLength(20)
  })
})
