import { describe, expect, it } from "@effect/vitest"
import { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { refreshDueTopUps, refreshOpenTopUps } from "@tollgate/application/topup/TopUpRefresh"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Effect, Fiber, TestClock } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { Counter, seen } from "./Counter.ts"

const numbered = (i: number) => OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)
const down = new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous: false, detail: "refused" })
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
        expect(yield* refreshDueTopUps()).toEqual({ attempted: 47, refreshed: 47, credited: 47 })
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
      const swept = yield* Effect.fork(refreshDueTopUps())
      yield* TestClock.adjust("4 seconds")
      expect((yield* Fiber.join(swept)).attempted).toBe(30)
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
      expect(yield* refreshDueTopUps()).toEqual({ attempted: 4, refreshed: 3, credited: 3 })
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("looks at credited orders too, and does not count them as credited again", () => {
    const counter = new Counter()
    counter.says = Effect.succeed(seen("Paid"))
    counter.due.push([counter.keep(anOrder({ status: "credited", paidAt: new Date(0), creditedAt: new Date(0) }))])
    return Effect.gen(function* () {
      expect(yield* refreshDueTopUps()).toEqual({ attempted: 1, refreshed: 1, credited: 0 })
      expect(counter.log.slice(-2)).toEqual(["refresh", "record"])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("takes back the payments of orders whose node died while it opened them", () => {
    const counter = new Counter()
    counter.stale = [{ draft: anOrder(), payer: counter.keep(anOrder()).payer }]
    return Effect.gen(function* () {
      yield* refreshDueTopUps()
      expect(counter.count(`cancel ${orderNumberOf(anOrder().id)}`)).toBe(1)
    }).pipe(Effect.provide(counter.layer))
  })
})

describe("all open orders", () => {
  it.effect("are looked at, however many there are", () => {
    const counter = new Counter()
    counter.says = Effect.succeed(seen("Paid"))
    for (let i = 0; i < 1_201; i++) counter.keep(anOrder({ id: numbered(i) }))
    counter.keep(anOrder({ id: numbered(5_000), status: "crediting", paidAt: new Date(0) }))
    return Effect.gen(function* () {
      expect(yield* refreshOpenTopUps).toEqual({
        attempted: 1_202,
        refreshed: 1_202,
        credited: 1_202,
        withoutProvider: 0
      })
      expect(counter.count("refresh")).toBe(1_201)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("are counted once, also when no provider answers and they are still due", () => {
    const counter = new Counter()
    counter.says = Effect.fail(down)
    counter.due.push(Array.from({ length: 22 }, (_, i) => counter.keep(anOrder({ id: numbered(i) }))))
    return Effect.gen(function* () {
      expect(yield* refreshOpenTopUps).toEqual({ attempted: 22, refreshed: 0, credited: 0, withoutProvider: 0 })
      expect(counter.count("refresh")).toBe(22)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("of real money whose provider is not there are told apart, and nobody is asked", () => {
    const counter = new Counter()
    counter.keep(anOrder({ id: numbered(1), provider: "gone" }))
    counter.keep(anOrder({ id: numbered(2), provider: "sim", simulated: true }))
    return Effect.gen(function* () {
      expect(yield* refreshOpenTopUps).toEqual({ attempted: 0, refreshed: 0, credited: 0, withoutProvider: 1 })
      expect(counter.count("refresh")).toBe(0)
    }).pipe(Effect.provide(counter.layer))
  })
})
