import {
  act,
  possibleActions,
  type SimulatedPayment,
  seenAt,
  toJson
} from "@tollgate/simulators/topup/payment/SimulatedPayment"
import { SimulatedPayments } from "@tollgate/simulators/topup/payment/SimulatedPayments"
import { Either } from "effect"
import { describe, expect, it } from "vitest"

const aPayment = (differences: Partial<SimulatedPayment> = {}): SimulatedPayment => ({
  provider: "nowpayments",
  method: "crypto",
  reference: "1",
  orderNumber: "RTO-1",
  payTo: undefined,
  shownAt: undefined,
  currency: "usdttrc20",
  decimals: 6,
  due: 25_000_123n,
  received: 0n,
  state: "open",
  openedAt: 1_000,
  changedAt: 1_000,
  expiresAt: 60_000,
  webhookUrl: undefined,
  requestBody: {},
  impossible: {},
  ...differences
})

const having = (payment: SimulatedPayment, ...actions: ReadonlyArray<Parameters<typeof act>[1]>) =>
  actions.reduce((payment, action) => Either.getOrThrow(act(payment, action, 2_000)), payment)

describe("a simulated payment", () => {
  it("can be paid exactly, in two parts or too much", () => {
    expect(having(aPayment(), "pay")).toMatchObject({ state: "paid", received: 25_000_123n, changedAt: 2_000 })
    expect(having(aPayment(), "underpay")).toMatchObject({ state: "open", received: 12_500_061n })
    expect(having(aPayment(), "underpay", "pay")).toMatchObject({ state: "paid", received: 25_000_123n })
    expect(having(aPayment(), "overpay")).toMatchObject({ state: "paid", received: 27_500_135n })
    expect(having(aPayment(), "overpay", "pay").received).toBe(27_500_135n)
  })

  it("can be paid after it expired or failed", () => {
    expect(having(aPayment(), "expire").state).toBe("expired")
    expect(having(aPayment(), "expire", "pay").state).toBe("paid")
    expect(having(aPayment(), "fail", "pay").state).toBe("paid")
    expect(act(having(aPayment(), "pay"), "expire", 3_000)).toEqual(Either.left("it is paid, so it cannot expire"))
    expect(Either.isLeft(act(having(aPayment(), "pay"), "fail", 3_000))).toBe(true)
    expect(Either.isLeft(act(aPayment({ state: "cancelled" }), "pay", 3_000))).toBe(true)
  })

  it("expires at its expiry time unless it was paid", () => {
    expect(seenAt(aPayment(), 59_999).state).toBe("open")
    expect(seenAt(aPayment(), 60_000)).toMatchObject({ state: "expired", changedAt: 60_000 })
    expect(seenAt(having(aPayment(), "pay"), 60_000).state).toBe("paid")
  })

  it("lists its possible actions", () => {
    expect(possibleActions(aPayment())).toEqual(["pay", "underpay", "overpay", "expire", "fail"])
    expect(possibleActions(aPayment({ impossible: { overpay: "no" }, state: "expired" }))).toEqual(["pay", "fail"])
    expect(possibleActions(having(aPayment(), "pay"))).toEqual([])
    expect(possibleActions(aPayment({ due: undefined }))).toEqual(["expire", "fail"])
  })

  it("writes amounts as decimals", () => {
    expect(toJson(having(aPayment(), "underpay"))).toMatchObject({ due: "25.000123", received: "12.500061" })
  })
})

describe("the payments of a simulator", () => {
  it("are found by order number, reference or address", () => {
    const payments = new SimulatedPayments()
    payments.put(aPayment())
    payments.put(aPayment({ reference: "2", payTo: "0xAbC" }))
    expect(payments.named("RTO-1", 0).map(({ reference }) => reference)).toEqual(["1", "2"])
    expect(payments.named("0xabc", 0).map(({ reference }) => reference)).toEqual(["2"])
    expect(payments.named("2", 0).map(({ reference }) => reference)).toEqual(["2"])
    expect(payments.named("2", 0, "midtrans")).toEqual([])
    expect(payments.named("", 0)).toEqual([])
  })

  it("are limited in number", () => {
    const payments = new SimulatedPayments(3)
    const references = () => payments.newestFirst(0).map(({ reference }) => reference)
    payments.put(aPayment({ reference: "open" }))
    payments.put(aPayment({ reference: "bare", orderNumber: undefined }))
    payments.put(aPayment({ reference: "paid", state: "paid" }))
    payments.put(aPayment({ reference: "a" }))
    expect(references()).toEqual(["a", "bare", "open"])
    const due = new SimulatedPayments(2)
    due.put(aPayment({ reference: "paid", state: "paid" }))
    due.put(aPayment({ reference: "expired", expiresAt: 5 }))
    due.put(aPayment({ reference: "new", changedAt: 6 }))
    expect(due.newestFirst(0).map(({ reference }) => reference)).toEqual(["new", "paid"])
    payments.put(aPayment({ reference: "b" }))
    expect(references()).toEqual(["b", "a", "open"])
    payments.put(aPayment({ reference: "c" }))
    expect(references()).toEqual(["c", "b", "a"])
  })
})
