import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import { decideCrediting, decideRefresh } from "@tollgate/domain/topup/Refresh"
import { anomaliesOf, paymentStatusOf, type TopUpOrder, type TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { anOrder, aQuota, instant, MINUTE, observation, order, someTime } from "../../support/resellers.ts"

const pending: PaymentObservation = { _tag: "Pending", received: undefined }
const paid: PaymentObservation = { _tag: "Paid", received: undefined, paidAt: undefined }

/** A database transaction of a refresh. A list of steps can miss the credit after an observation, as after a crash. */
type Step =
  | { readonly _tag: "observe"; readonly seen: PaymentObservation; readonly now: Date }
  | { readonly _tag: "credit"; readonly now: Date }

const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  FastCheck.record({ _tag: FastCheck.constant("observe" as const), seen: observation, now: someTime }),
  FastCheck.record({ _tag: FastCheck.constant("credit" as const), now: someTime })
)

const live = (steps: ReadonlyArray<Step>, from = anOrder()) => {
  let order = from
  let quota = aQuota(5n)
  const credits: Array<bigint> = []
  const orders: Array<TopUpOrder> = [order]
  for (const step of steps) {
    if (step._tag === "observe") order = decideRefresh(order, step.seen, step.now).order
    else {
      const credited = decideCrediting(order, quota, step.now)
      if (credited !== undefined) {
        order = credited.order
        quota = credited.quota
        credits.push(credited.booking.amount)
      }
    }
    orders.push(order)
  }
  return { order, quota, credits, orders }
}

describe("a top-up order", () => {
  const lives = FastCheck.array(step, { maxLength: 30 })

  property("is credited at most once", [lives], (steps) => live(steps).credits.length <= 1)

  property("is credited with its quota", [lives], (steps) => {
    const { order, quota, credits } = live(steps)
    const sum = credits.reduce((a, b) => a + b, 0n)
    return sum === (order.status === "credited" ? order.quotaUsdMicro : 0n) && quota.creditsPosted === 5n + sum
  })

  property("is credited from any status after it was paid", [lives, lives, someTime], (before, between, now) => {
    const steps: ReadonlyArray<Step> = [
      ...before,
      { _tag: "observe", seen: paid, now },
      ...between,
      { _tag: "credit", now }
    ]
    return live(steps).order.status === "credited"
  })

  property(
    "is never credited without an observed payment",
    [lives],
    (steps) => live(steps.filter((step) => step._tag === "credit" || step.seen._tag !== "Paid")).credits.length === 0
  )

  property("never decreases its received amount", [lives], (steps) =>
    live(steps).orders.every(({ received }, i, orders) => {
      const before = orders[i - 1]?.received
      return (
        (before?.receivedRaw ?? 0n) <= (received.receivedRaw ?? 0n) &&
        (before?.receivedUsdMicro ?? 0n) <= (received.receivedUsdMicro ?? 0n)
      )
    })
  )

  property("never changes its instructions, amounts, creation time or expiry", [lives], (steps) => {
    const { order } = live(steps)
    const kept = anOrder()
    return (["instructions", "amount", "quotaUsdMicro", "createdAt", "expiresAt", "provider", "id"] as const).every(
      (fact) => JSON.stringify(order[fact], digits) === JSON.stringify(kept[fact], digits)
    )
  })

  property(
    "has a payment time exactly if it is paid, and a crediting time exactly if it is credited",
    [lives],
    (steps) =>
      live(steps).orders.every(
        (order) =>
          (paymentStatusOf(order) === "paid") === (order.paidAt !== undefined) &&
          (order.status === "credited") === (order.creditedAt !== undefined)
      )
  )

  property("never changes its payment time or its crediting time", [lives], (steps) =>
    live(steps).orders.every((order, i, orders) => {
      const before = orders[i - 1]
      return (
        (before?.paidAt === undefined || order.paidAt === before.paidAt) &&
        (before?.creditedAt === undefined || order.creditedAt === before.creditedAt)
      )
    })
  )

  property("changes its status only by the allowed transitions", [lives], (steps) => {
    const ways: Record<TopUpStatus, ReadonlyArray<TopUpStatus>> = {
      pending: ["pending", "crediting", "expired", "failed"],
      expired: ["expired", "crediting"],
      failed: ["failed", "crediting"],
      crediting: ["crediting", "credited"],
      credited: ["credited"]
    }
    return live(steps).orders.every(({ status }, i, orders) =>
      ways[orders[i - 1]?.status ?? "pending"].includes(status)
    )
  })
})

describe("a payment observation", () => {
  property("that is suspicious raises an alert without a change of the status", [order, someTime], (order, now) => {
    const { order: next, alert } = decideRefresh(
      order,
      {
        _tag: "Suspicious",
        received: { receivedRaw: undefined, receivedUsdMicro: order.quotaUsdMicro },
        reason: "odd"
      },
      now
    )
    return (
      alert === "odd" &&
      next.status === order.status &&
      next.received.receivedRaw === order.received.receivedRaw &&
      (next.received.receivedUsdMicro ?? 0n) >= order.quotaUsdMicro &&
      next.paidAt === order.paidAt &&
      next.evidence.remarks.includes("odd")
    )
  })

  property(
    "raises an alert if it is suspicious or a refund",
    [order, observation, someTime],
    (order, seen, now) =>
      (decideRefresh(order, seen, now).alert !== undefined) === ["Suspicious", "Refunded"].includes(seen._tag)
  )

  const odd = (reason: string): PaymentObservation => ({ _tag: "Suspicious", reason, received: undefined })

  it("that is suspicious flags the order, which stays pending after its expiry", () => {
    const { order } = decideRefresh(anOrder(), odd("the amount differs"), instant(30 * 24 * 60 * MINUTE))
    expect([order.status, anomaliesOf(order)]).toEqual(["pending", ["remarked"]])
  })

  it("raises an alert once a day for each reason, until a week after the expiry", () => {
    let order = anOrder()
    const days: Array<number> = []
    for (let hour = 0; hour < 30 * 24; hour++) {
      const { alert, order: next } = decideRefresh(order, odd("odd"), instant(hour * 60 * MINUTE))
      if (alert !== undefined) days.push(Math.floor(hour / 24))
      order = next
    }
    expect(days).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(order).toMatchObject({ status: "pending", evidence: { remarks: ["odd"] } })
  })

  it("raises an alert once a day if the reason changes and no further remark can be stored", () => {
    let order = anOrder()
    const alerts: Array<number> = []
    for (let minute = 0; minute < 3 * 24 * 60; minute++) {
      const { alert, order: next } = decideRefresh(order, odd(`odd ${minute}`), instant(minute * MINUTE))
      if (alert !== undefined) alerts.push(minute)
      order = next
    }
    expect(alerts).toEqual([...Array(100).keys(), 24 * 60, 2 * 24 * 60])
  })

  property("raises an alert for a new reason at any time", [order, someTime, someTime], (order, first, later) => {
    const alerted = decideRefresh(order, odd("odd"), first)
    return alerted.alert === "odd" && decideRefresh(alerted.order, odd("odder"), later).alert === "odder"
  })

  property(
    "of one refunded payment alerts while another payment can still be made",
    [order, someTime],
    (order, now) => {
      const { alert, order: next } = decideRefresh(order, { ...pending, alert: "refunded" }, now)
      const { order: same } = decideRefresh(order, pending, now)
      const withoutEvidence = (order: TopUpOrder) => JSON.stringify({ ...order, evidence: undefined }, digits)
      return (
        alert === "refunded" &&
        next.evidence.remarks.includes("refunded") &&
        withoutEvidence(next) === withoutEvidence(same)
      )
    }
  )

  property("of a refund changes a pending order to failed", [order, someTime], (order, now) => {
    const seen = { _tag: "Refunded", received: undefined, reason: "chargeback" } as const
    const { order: next, alert } = decideRefresh(order, seen, now)
    return (
      alert === "chargeback" &&
      next.evidence.remarks.includes("chargeback") &&
      next.status === (order.status === "pending" ? "failed" : order.status)
    )
  })

  it.each([
    ["expired when the provider reports expiry", { _tag: "Expired", received: undefined }, 0, "expired"],
    [
      "failed when the provider reports a failure",
      { _tag: "Failed", received: undefined, reason: "denied" },
      0,
      "failed"
    ],
    ["pending before the expiry", pending, 59 * MINUTE, "pending"],
    ["pending until one minute after the expiry", pending, 61 * MINUTE, "pending"],
    ["expired more than one minute after the expiry", pending, 61 * MINUTE + 1, "expired"]
  ] as const)("makes a pending order %s", (_, seen, atMillis, status) => {
    expect(decideRefresh(anOrder(), seen, instant(atMillis)).order.status).toBe(status)
  })

  it.each(["pending", "expired", "failed"] as const)("of a payment changes a %s order to crediting", (status) => {
    const now = instant(5 * 24 * 60 * MINUTE)
    const { order } = decideRefresh(anOrder({ status }), paid, now)
    expect(order).toMatchObject({ status: "crediting", paidAt: now })
    expect(anomaliesOf(order)).toEqual(["late"])
  })

  it("of a payment sets a payment time between the creation of the order and now", () => {
    const paidAt = (at: number) =>
      decideRefresh(anOrder(), { ...paid, paidAt: instant(at) }, instant(10 * MINUTE)).order.paidAt
    expect(paidAt(5 * MINUTE)).toEqual(instant(5 * MINUTE))
    expect(paidAt(-MINUTE)).toEqual(instant(0))
    expect(paidAt(20 * MINUTE)).toEqual(instant(10 * MINUTE))
  })

  const seen = (transactions: ReadonlyArray<string>): PaymentObservation => ({
    ...pending,
    evidence: { transactions, remarks: [] }
  })
  const first = decideRefresh(anOrder(), seen(["0xa"]), instant(1)).order

  it("adds each transaction once", () => {
    expect(decideRefresh(first, seen(["0xa", "0xb"]), instant(2)).order.evidence.transactions).toEqual(["0xa", "0xb"])
  })

  it("stores at most 100 transactions", () => {
    const flood = seen(Array.from({ length: 1_000 }, (_, i) => `0x${i}`))
    expect(decideRefresh(first, flood, instant(3)).order.evidence.transactions).toHaveLength(100)
  })

  it("stores at most 500 characters of a transaction and of an alert", () => {
    const long = "x".repeat(100_000)
    const start = `${"x".repeat(500)}...`
    expect(decideRefresh(anOrder(), seen([long]), instant(1)).order.evidence.transactions).toEqual([start])
    const odd: PaymentObservation = { _tag: "Suspicious", reason: long, received: undefined }
    const { alert, order } = decideRefresh(anOrder(), odd, instant(1))
    expect(alert).toBe(start)
    expect(order.evidence.remarks).toEqual([start])
  })
})

const digits = (_: string, value: unknown) => (typeof value === "bigint" ? value.toString() : value)
