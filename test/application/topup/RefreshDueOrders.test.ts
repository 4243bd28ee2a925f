import { describe, expect, it } from "@effect/vitest"
import { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { refreshDue, refreshOpen } from "@tollgate/application/topup/RefreshDueOrders"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Effect, Fiber, TestClock } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { anObservation, TopUpFixture } from "./TopUpFixture.ts"

const numbered = (i: number) => OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)
const down = new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous: false, detail: "refused" })
const batch = (fixture: TopUpFixture, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => fixture.store(anOrder({ id: numbered(from + i) })))

describe("the refresh of due top-ups", () => {
  it.effect("claims the due orders in batches of 40", () => {
    const fixture = new TopUpFixture()
    fixture.response = Effect.succeed(anObservation("Paid"))
    fixture.due.push(batch(fixture, 0, 40), batch(fixture, 40, 7))
    return Effect.gen(function* () {
      expect(yield* refreshDue()).toEqual({ attempted: 47, refreshed: 47, credited: 47 })
      expect(fixture.count("claim 40 of bsc")).toBe(2)
      expect(fixture.count("credit")).toBe(47)
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("refreshes at most 8 orders concurrently", () => {
    const fixture = new TopUpFixture()
    let running = 0
    let max = 0
    fixture.response = Effect.acquireUseRelease(
      Effect.sync(() => (max = Math.max(max, ++running))),
      () => Effect.delay(Effect.succeed(anObservation("Pending")), "1 seconds"),
      () => Effect.sync(() => running--)
    )
    fixture.due.push(batch(fixture, 0, 30))
    return Effect.gen(function* () {
      const refreshing = yield* Effect.fork(refreshDue())
      yield* TestClock.adjust("4 seconds")
      expect((yield* Fiber.join(refreshing)).attempted).toBe(30)
      expect(max).toBe(8)
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("continues after an order that cannot be refreshed", () => {
    const fixture = new TopUpFixture()
    const broken = {
      ...fixture.store(anOrder({ id: numbered(1) })),
      order: { ...anOrder({ id: numbered(1) }), amount: undefined as never }
    }
    fixture.due.push([broken, ...batch(fixture, 2, 3)])
    fixture.response = Effect.succeed(anObservation("Paid"))
    return Effect.gen(function* () {
      expect(yield* refreshDue()).toEqual({ attempted: 4, refreshed: 3, credited: 3 })
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("does not count a credited order as credited again", () => {
    const fixture = new TopUpFixture()
    fixture.response = Effect.succeed(anObservation("Paid"))
    fixture.due.push([fixture.store(anOrder({ status: "credited", paidAt: new Date(0), creditedAt: new Date(0) }))])
    return Effect.gen(function* () {
      expect(yield* refreshDue()).toEqual({ attempted: 1, refreshed: 1, credited: 0 })
      expect(fixture.log.slice(-2)).toEqual(["refresh", "record"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("cancels the payments that a dead node was opening", () => {
    const fixture = new TopUpFixture()
    fixture.stale = [{ draft: anOrder(), payer: fixture.store(anOrder()).payer }]
    return Effect.gen(function* () {
      yield* refreshDue()
      expect(fixture.count(`cancel ${orderNumberOf(anOrder().id)}`)).toBe(1)
    }).pipe(Effect.provide(fixture.layer))
  })
})

describe("the refresh of all open orders", () => {
  it.effect("refreshes pending orders of several pages and a crediting order", () => {
    const fixture = new TopUpFixture()
    fixture.response = Effect.succeed(anObservation("Paid"))
    for (let i = 0; i < 1_201; i++) fixture.store(anOrder({ id: numbered(i) }))
    fixture.store(anOrder({ id: numbered(5_000), status: "crediting", paidAt: new Date(0) }))
    return Effect.gen(function* () {
      expect(yield* refreshOpen).toEqual({
        attempted: 1_202,
        refreshed: 1_202,
        credited: 1_202,
        withoutProvider: 0
      })
      expect(fixture.count("refresh")).toBe(1_201)
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("counts each order once if no provider responds", () => {
    const fixture = new TopUpFixture()
    fixture.response = Effect.fail(down)
    fixture.due.push(Array.from({ length: 22 }, (_, i) => fixture.store(anOrder({ id: numbered(i) }))))
    return Effect.gen(function* () {
      expect(yield* refreshOpen).toEqual({ attempted: 22, refreshed: 0, credited: 0, withoutProvider: 0 })
      expect(fixture.count("refresh")).toBe(22)
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("counts real-money orders whose provider is not configured", () => {
    const fixture = new TopUpFixture()
    fixture.store(anOrder({ id: numbered(1), provider: "gone" }))
    fixture.store(anOrder({ id: numbered(2), provider: "sim", simulated: true }))
    return Effect.gen(function* () {
      expect(yield* refreshOpen).toEqual({ attempted: 0, refreshed: 0, credited: 0, withoutProvider: 1 })
      expect(fixture.count("refresh")).toBe(0)
    }).pipe(Effect.provide(fixture.layer))
  })
})
