import { describe, expect, it } from "@effect/vitest"
import { sweepTopUps, topUpRefresh } from "@tollgate/application/topup/TopUpRefresh"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/OrderId"
import { Effect, Fiber, TestClock } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { Counter, seen } from "./Counter.ts"

const numbered = (i: number) => OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)
const batch = (counter: Counter, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => counter.keep(anOrder({ id: numbered(from + i) })))

describe("the sweep", () => {
  it.effect(
    "looks at what is due of this installation's providers, batch after batch, and credits what was paid",
    () => {
      const counter = new Counter()
      counter.says = Effect.succeed(seen("Paid"))
      counter.due.push(batch(counter, 0, 40), batch(counter, 40, 7))
      return Effect.gen(function* () {
        expect(yield* sweepTopUps).toEqual({ looked: 47, answered: 47, credited: 47 })
        expect(counter.count("claim 40 of bsc")).toBe(2)
        expect(counter.count("credit")).toBe(47)
      }).pipe(Effect.provide(counter.layer))
    }
  )

  it.effect("looks at a few at a time", () => {
    const counter = new Counter()
    let running = 0
    let most = 0
    counter.says = Effect.acquireUseRelease(
      Effect.sync(() => (most = Math.max(most, ++running))),
      () => Effect.delay(Effect.succeed(seen("Pending")), "1 seconds"),
      () => Effect.sync(() => running--)
    )
    counter.due.push(batch(counter, 0, 30))
    return Effect.gen(function* () {
      const swept = yield* Effect.fork(sweepTopUps)
      yield* TestClock.adjust("4 seconds")
      expect((yield* Fiber.join(swept)).looked).toBe(30)
      expect(most).toBe(8)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("is not stopped by an order that cannot be looked at", () => {
    const counter = new Counter()
    const broken = {
      ...counter.keep(anOrder({ id: numbered(1) })),
      order: { ...anOrder({ id: numbered(1) }), amount: undefined as never }
    }
    counter.due.push([broken, ...batch(counter, 2, 3)])
    counter.says = Effect.succeed(seen("Paid"))
    return Effect.gen(function* () {
      expect(yield* sweepTopUps).toEqual({ looked: 4, answered: 3, credited: 3 })
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("looks at credited orders too, and does not count them as credited again", () => {
    const counter = new Counter()
    counter.says = Effect.succeed(seen("Paid"))
    counter.due.push([counter.keep(anOrder({ status: "credited", paidAt: new Date(0), creditedAt: new Date(0) }))])
    return Effect.gen(function* () {
      expect(yield* sweepTopUps).toEqual({ looked: 1, answered: 1, credited: 0 })
      expect(counter.log.slice(-2)).toEqual(["check", "observe"])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("takes back the payments of orders whose node died while it opened them", () => {
    const counter = new Counter()
    counter.stale = [{ draft: anOrder(), payer: counter.keep(anOrder()).payer }]
    return Effect.gen(function* () {
      yield* sweepTopUps
      expect(counter.count(`cancel ${orderNumberOf(anOrder().id)}`)).toBe(1)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("comes every half minute, whatever happened the last time", () => {
    const counter = new Counter()
    counter.stale = undefined as never
    return Effect.gen(function* () {
      const kept = yield* Effect.fork(topUpRefresh())
      yield* TestClock.adjust("1 seconds")
      counter.stale = []
      counter.due.push(batch(counter, 0, 1))
      yield* TestClock.adjust("30 seconds")
      expect(counter.count("check")).toBe(1)
      yield* Fiber.interrupt(kept)
    }).pipe(Effect.provide(counter.layer))
  })
})
