import { describe, expect, it } from "@effect/vitest"
import { OrderPayments } from "@tollgate/application/topup/OrderPayments"
import { AmountRejected, type PaymentProvider, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { anomaliesOf, excessUsdMicroOf, OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Deferred, Effect, Exit, Fiber, Option, TestClock } from "effect"
import { anOrder, aReseller } from "../../support/resellers.ts"
import { anObservation, anOpening, TopUpFixture } from "./TopUpFixture.ts"

const down = (ambiguous = false) =>
  new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous, detail: "connection refused" })

const withAnOrder = <A, E>(
  body: (fixture: TopUpFixture, stored: ReturnType<TopUpFixture["store"]>) => Effect.Effect<A, E, OrderPayments>,
  order = anOrder()
) => {
  const fixture = new TopUpFixture()
  return Effect.provide(body(fixture, fixture.store(order)), fixture.layer)
}

describe("a refresh", () => {
  it.effect("credits a paid order in one call", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = Effect.succeed(anObservation("Paid"))
        const { order } = yield* (yield* OrderPayments).refresh(stored, "reseller")
        expect(order.status).toBe("credited")
        expect(fixture.log).toEqual(["refresh", "record", "credit"])
        expect(fixture.quota.creditsPosted).toBe(order.quotaUsdMicro)
      })
    )
  )

  it.effect("sends one provider request for 200 concurrent callers", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = Effect.delay(Effect.succeed(anObservation("Paid")), "2 seconds")
        const { refresh } = yield* OrderPayments
        const calls = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 200 }, () => refresh(stored, "reseller")),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("3 seconds")
        const results = yield* Fiber.join(calls)
        expect(new Set(results.map(({ order }) => order.status))).toEqual(new Set(["credited"]))
        expect(fixture.log).toEqual(["refresh", "record", "credit"])
        expect(fixture.quota.creditsPosted).toBe(stored.order.quotaUsdMicro)
      })
    )
  )

  it.effect("sends at most one provider request per second for a real-money order", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* OrderPayments
        for (let tenths = 0; tenths <= 20; tenths++) {
          yield* refresh(stored, "reseller")
          yield* TestClock.adjust("100 millis")
        }
        expect(fixture.count("refresh")).toBe(3)
      })
    )
  )

  it.effect("of a simulated order sends a provider request at each call", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.providers = [fixture.provider({ label: "sim", simulated: true })]
        const stored = fixture.store(anOrder({ provider: "sim", simulated: true }))
        yield* Effect.provide(
          Effect.gen(function* () {
            const { refresh } = yield* OrderPayments
            yield* refresh(stored, "reseller")
            fixture.response = Effect.succeed(anObservation("Paid"))
            expect((yield* refresh(stored, "reseller")).order.status).toBe("credited")
          }),
          fixture.layer
        )
        expect(fixture.count("refresh")).toBe(2)
      })
    )
  )

  it.effect("continues for the other callers after the first caller disconnects", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = Effect.delay(Effect.succeed(anObservation("Paid")), "2 seconds")
        const { refresh } = yield* OrderPayments
        const first = yield* Effect.fork(refresh(stored, "reseller"))
        yield* Effect.yieldNow()
        const second = yield* Effect.fork(refresh(stored, "reseller"))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        yield* TestClock.adjust("2 seconds")
        expect((yield* Fiber.join(second)).order.status).toBe("credited")
        expect(fixture.count("refresh")).toBe(1)
      })
    )
  )

  it.effect("credits an order that a crash left in the status crediting", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        const stored = fixture.store(anOrder({ status: "crediting", paidAt: new Date(0) }))
        fixture.response = Effect.fail(down())
        expect((yield* (yield* OrderPayments).refresh(stored, "reseller")).order.status).toBe("credited")
        expect(fixture.log).toEqual(["credit"])
      })
    )
  )

  it.effect("returns a credited order without a provider request", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const credited = { ...stored, order: anOrder({ status: "credited" }) }
        expect(yield* (yield* OrderPayments).refresh(credited, "reseller")).toEqual({
          order: credited.order,
          refreshed: false
        })
        expect(fixture.log).toEqual([])
      })
    )
  )

  it.effect("does not credit further payments for a credited order", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        const stored = fixture.store(anOrder({ status: "credited", paidAt: new Date(0), creditedAt: new Date(0) }))
        const received = { receivedRaw: undefined, receivedUsdMicro: UsdMicro(25_000_000n) }
        fixture.response = Effect.succeed({ _tag: "Paid", paidAt: undefined, received })
        const { refresh } = yield* OrderPayments
        const { order, refreshed } = yield* refresh(stored, "operator")
        expect({
          refreshed,
          status: order.status,
          anomalies: anomaliesOf(order),
          excess: excessUsdMicroOf(order)
        }).toEqual({ refreshed: true, status: "credited", anomalies: ["overpaid"], excess: 15_000_000n })
        yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("1 seconds")
        expect(fixture.log).toEqual(["refresh", "record", "refresh", "record"])
        expect(fixture.quota.creditsPosted).toBe(0n)
      })
    )
  )

  it.effect.each([
    ["a pending order", anOrder(), Effect.fail(down())],
    ["a credited order", anOrder({ status: "credited" }), Effect.fail(down())],
    ["an order of an unconfigured provider", anOrder({ provider: "gone" }), Effect.succeed(anObservation("Paid"))]
  ] as const)("without a provider's response leaves %s unchanged", ([, order, response]) =>
    withAnOrder(
      (fixture, stored) =>
        Effect.gen(function* () {
          fixture.response = response
          expect(yield* (yield* OrderPayments).refresh(stored, "operator")).toEqual({ order, refreshed: false })
        }),
      order
    )
  )

  it.effect("credits an expired or failed order that was paid later", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.response = Effect.succeed(anObservation("Paid"))
        for (const status of ["expired", "failed"] as const) {
          const stored = fixture.store(anOrder({ status }))
          expect((yield* (yield* OrderPayments).refresh(stored, "reseller")).order.status).toBe("credited")
          yield* TestClock.adjust("1 seconds")
        }
      })
    )
  )

  it.effect.each([
    ["reports a network error", Effect.fail(down())],
    ["never returns", Effect.never],
    ["throws an exception", Effect.die("a bug of the adapter")],
    ["interrupts its fiber", Effect.interrupt]
  ] as const)("returns the stored order if the adapter of the provider %s", ([, response]) =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = response
        const refreshed = yield* Effect.fork((yield* OrderPayments).refresh(stored, "reseller"))
        yield* TestClock.adjust("8 seconds")
        expect(yield* Fiber.join(refreshed)).toEqual({ order: stored.order, refreshed: false })
        expect(fixture.log).toEqual(["refresh"])
      })
    )
  )

  it.effect("credits nothing for a suspicious payment", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = Effect.succeed({ _tag: "Suspicious", received: undefined, reason: "another amount" })
        expect((yield* (yield* OrderPayments).refresh(stored, "reseller")).order.status).toBe("pending")
        expect(fixture.log).toEqual(["refresh", "record"])
      })
    )
  )

  it.effect.each([
    ["a pending order of an unconfigured simulator", anOrder({ simulated: true, provider: "sim" })],
    [
      "a crediting order of an unconfigured simulator",
      anOrder({ simulated: true, provider: "sim", status: "crediting" })
    ],
    ["a simulated order with the label of a real provider", anOrder({ simulated: true, provider: "bsc" })],
    ["a real-money order of an unconfigured provider", anOrder({ provider: "gone" })]
  ] as const)("credits nothing for %s", ([, order]) =>
    withAnOrder(
      (fixture, stored) =>
        Effect.gen(function* () {
          expect(yield* (yield* OrderPayments).refresh(stored, "reseller")).toEqual({
            order: stored.order,
            refreshed: false
          })
          expect(fixture.log).toEqual([])
        }),
      order
    )
  )

  it.effect("credits a crediting real-money order of an unconfigured provider", () =>
    withAnOrder(
      (fixture, stored) =>
        Effect.gen(function* () {
          expect((yield* (yield* OrderPayments).refresh(stored, "reseller")).order.status).toBe("credited")
          expect(fixture.log).toEqual(["credit"])
        }),
      anOrder({ provider: "gone", status: "crediting" })
    )
  )
})

describe("a refresh after a webhook", () => {
  it.effect("begins one second after the running refresh has ended", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        fixture.response = Effect.delay(
          Effect.sync(() => anObservation("Pending")),
          "500 millis"
        )
        const { refresh } = yield* OrderPayments
        yield* Effect.fork(refresh(stored, "reseller"))
        yield* TestClock.adjust("100 millis")
        const pending = yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("400 millis")
        fixture.response = Effect.succeed(anObservation("Paid"))
        yield* TestClock.adjust("900 millis")
        expect(fixture.count("refresh")).toBe(1)
        yield* TestClock.adjust("100 millis")
        expect((yield* Fiber.join(pending)).order.status).toBe("credited")
        expect(fixture.count("refresh")).toBe(2)
      })
    )
  )

  it.effect("runs once for a hundred webhooks that arrive before it begins", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* OrderPayments
        yield* refresh(stored, "reseller")
        fixture.response = Effect.succeed(anObservation("Paid"))
        const pending = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 100 }, () => refresh(stored, "webhook")),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("1 seconds")
        expect((yield* Fiber.join(pending)).map(({ order }) => order.status)).toEqual(Array(100).fill("credited"))
        expect(fixture.log).toEqual(["refresh", "record", "refresh", "record", "credit"])
      })
    )
  )

  it.effect("runs again for a second webhook", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* OrderPayments
        yield* refresh(stored, "webhook")
        fixture.response = Effect.succeed(anObservation("Paid"))
        const pending = yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("1 seconds")
        expect((yield* Fiber.join(pending)).order.status).toBe("credited")
      })
    )
  )

  it.effect("reads the payment after the last webhook, even if a background refresh began before that webhook", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        let state = anObservation("Pending")
        const { refresh } = yield* OrderPayments
        yield* refresh(stored, "reseller")
        yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("100 millis")
        fixture.response = Effect.suspend(() => Effect.delay(Effect.succeed(state), "3 seconds"))
        yield* Effect.fork(refresh(stored, "background"))
        yield* TestClock.adjust("100 millis")
        state = anObservation("Paid")
        const last = yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("10 seconds")
        expect((yield* Fiber.join(last)).order.status).toBe("credited")
      })
    )
  )

  it.effect("reads the repeated payments of all webhooks that arrived before it begins", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const read: Array<ReadonlyArray<string> | undefined> = []
        const reading: PaymentProvider["refresh"] = (_, { repeatedPayments }) =>
          Effect.sync(() => {
            read.push(repeatedPayments)
            return anObservation("Pending")
          })
        fixture.providers = [fixture.provider({ refresh: reading })]
        yield* Effect.provide(
          Effect.gen(function* () {
            const { refresh } = yield* OrderPayments
            yield* refresh(stored, "reseller")
            yield* Effect.fork(refresh(stored, "webhook"))
            yield* TestClock.adjust("100 millis")
            const repeated = { ...stored, repeatedPayments: ["5002"] }
            fixture.orders.set(stored.order.id, repeated)
            yield* Effect.fork(refresh(repeated, "webhook"))
            yield* TestClock.adjust("1 seconds")
          }),
          fixture.layer
        )
        expect(read).toEqual([[], ["5002"]])
      })
    )
  )

  it.effect("begins one second after a refresh that began while the order was read", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* OrderPayments
        fixture.reading = Effect.sleep("500 millis")
        yield* Effect.fork(refresh(stored, "webhook"))
        yield* TestClock.adjust("200 millis")
        yield* refresh(stored, "reseller")
        yield* TestClock.adjust("900 millis")
        expect(fixture.count("refresh")).toBe(1)
        yield* TestClock.adjust("100 millis")
        expect(fixture.count("refresh")).toBe(2)
      })
    )
  )

  it.effect("continues after the sender of the webhook disconnects", () =>
    withAnOrder((fixture, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* OrderPayments
        yield* refresh(stored, "reseller")
        fixture.response = Effect.succeed(anObservation("Paid"))
        const pending = yield* Effect.fork(refresh(stored, "webhook"))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(pending)
        yield* TestClock.adjust("1 seconds")
        expect(fixture.orders.get(stored.order.id)?.order.status).toBe("credited")
      })
    )
  )
})

describe("the opening of a payment", () => {
  const draft = (fixture: TopUpFixture) => {
    fixture.orders.clear()
    const {
      providerPaymentId,
      instructions,
      expiresAt,
      status,
      received,
      evidence,
      paidAt,
      creditedAt,
      refreshedAt,
      ...draft
    } = anOrder()
    return draft
  }
  const open = (fixture: TopUpFixture) =>
    Effect.flatMap(OrderPayments, ({ open }) => open(fixture.provider(), aReseller(), Effect.succeed(draft(fixture))))

  it.effect("makes the order visible after the provider has opened the payment", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        const opened = yield* Deferred.make<void>()
        fixture.opening = Effect.as(Deferred.await(opened), anOpening())
        const opening = yield* Effect.fork(open(fixture))
        yield* TestClock.adjust("1 seconds")
        expect([fixture.log, fixture.orders.size]).toEqual([["open"], 0])
        yield* Deferred.succeed(opened, undefined)
        expect(yield* Fiber.join(opening)).toMatchObject({ status: "pending", providerPaymentId: "bsc:0x1" })
        expect([fixture.log, fixture.orders.size]).toEqual([["open"], 1])
      })
    )
  )

  it.effect("leaves no visible order if the request to the provider fails", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.opening = Effect.fail(down())
        const refused = yield* Effect.flip(open(fixture))
        expect(refused._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(fixture.orders.size).toBe(0)
        expect(fixture.abandoned.get(anOrder().id)).toContain("connection refused")
        expect(fixture.log).toEqual(["open"])
      })
    )
  )

  it.effect("fails with an amount error if the provider refuses the amount", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.opening = Effect.fail(new AmountRejected({ provider: "bsc", detail: "too small" }))
        const refused = yield* Effect.flip(open(fixture))
        expect(refused).toMatchObject({ _tag: "AmountOutOfRange", path: "amount_usd_micro", bounds: null })
        expect(fixture.abandoned.size).toBe(1)
      })
    )
  )

  it.effect.each([
    ["its outcome is unknown", Effect.fail(down(true))],
    ["the provider does not respond in time", Effect.never],
    ["the adapter throws an exception", Effect.die("a bug")]
  ] as const)("is followed by a cancellation if %s", ([, opening]) =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.opening = opening
        const refused = yield* Effect.fork(Effect.flip(open(fixture)))
        yield* TestClock.adjust("20 seconds")
        expect((yield* Fiber.join(refused))._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(fixture.log).toEqual(["open", `cancel ${orderNumberOf(anOrder().id)}`])
        expect(fixture.abandoned.size).toBe(1)
      })
    )
  )

  it.effect("is followed by a cancellation if its draft was abandoned", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.abandoned.set(anOrder().id, "stale")
        expect((yield* Effect.flip(open(fixture)))._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(fixture.count(`cancel ${orderNumberOf(anOrder().id)}`)).toBe(1)
      })
    )
  )

  it.effect("continues after the client disconnects", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        const opened = yield* Deferred.make<void>()
        fixture.opening = Effect.as(Deferred.await(opened), anOpening())
        const calls = yield* Effect.fork(open(fixture))
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.interrupt(calls)
        yield* Deferred.succeed(opened, undefined)
        yield* TestClock.adjust("1 millis")
        expect(fixture.orders.size).toBe(1)
      })
    )
  )

  it.effect("begins although the client disconnects while the draft is committed", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        const stored = draft(fixture)
        const committed = Effect.uninterruptible(Effect.delay(Effect.succeed(stored), "2 seconds"))
        const { open } = yield* OrderPayments
        const call = yield* Effect.fork(open(fixture.provider(), aReseller(), committed))
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.interruptFork(call)
        yield* TestClock.adjust("2 seconds")
        expect(fixture.orders.get(stored.id)?.order.status).toBe("pending")
      })
    )
  )

  it.effect("keeps the request of a disconnected client in progress only until the draft is stored", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.opening = Effect.never
        const storing = Effect.delay(Effect.succeed(draft(fixture)), "2 seconds")
        const { open } = yield* OrderPayments
        const call = yield* Effect.fork(open(fixture.provider(), aReseller(), storing))
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.interruptFork(call)
        yield* TestClock.adjust("900 millis")
        expect(Option.isNone(yield* Fiber.poll(call))).toBe(true)
        yield* TestClock.adjust("100 millis")
        expect(Option.isSome(yield* Fiber.poll(call))).toBe(true)
        expect(fixture.log).toEqual(["open"])
      })
    )
  )

  const newId = (i: number) => OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)

  it.effect("is refused while its reseller has 32 concurrent openings", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.opening = Effect.delay(Effect.succeed(anOpening()), "5 seconds")
        const { open } = yield* OrderPayments
        const stored: Array<number> = []
        const opens = (i: number, reseller = aReseller()) => {
          const storing = Effect.sync(() => {
            stored.push(i)
            return { ...draft(fixture), resellerId: reseller.id, id: newId(i) }
          })
          return Effect.exit(open(fixture.provider(), reseller, storing))
        }
        const calls = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 100 }, (_, i) => opens(i)),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("1 seconds")
        const another = { ...aReseller(), id: ResellerId.make("01930000-0000-7000-8000-000000000002") }
        const theirs = yield* Effect.fork(opens(100, another))
        expect(Exit.isFailure(yield* opens(101))).toBe(true)
        expect(stored).not.toContain(101)
        yield* TestClock.adjust("5 seconds")
        expect((yield* Fiber.join(calls)).filter(Exit.isSuccess)).toHaveLength(32)
        expect(Exit.isSuccess(yield* Fiber.join(theirs))).toBe(true)
        fixture.opening = Effect.succeed(anOpening())
        expect((yield* open(fixture.provider(), aReseller(), Effect.succeed(draft(fixture)))).status).toBe("pending")
      })
    )
  )

  it.effect("is not refused while 200 openings at another provider hang", () => {
    const fixture = new TopUpFixture()
    const hanging = { ...fixture.provider(), label: "hangs", open: () => Effect.never }
    fixture.providers = [...fixture.providers, hanging]
    return Effect.gen(function* () {
      const { open } = yield* OrderPayments
      for (let i = 0; i < 200; i++) {
        const resellerId = ResellerId.make(`01930000-0000-7000-8000-${String(i % 9).padStart(12, "0")}`)
        const order = Effect.succeed({ ...draft(fixture), resellerId, id: newId(i) })
        yield* Effect.fork(Effect.exit(open(hanging, { ...aReseller(), id: resellerId }, order)))
      }
      yield* TestClock.adjust("1 seconds")
      fixture.opening = Effect.succeed(anOpening())
      expect((yield* open(fixture.provider(), aReseller(), Effect.succeed(draft(fixture)))).status).toBe("pending")
    }).pipe(Effect.provide(fixture.layer))
  })
})

describe("the refreshes of one reseller", () => {
  it.effect("do not stop refreshes for other resellers and for webhooks", () =>
    withAnOrder((fixture) =>
      Effect.gen(function* () {
        fixture.response = Effect.never
        const { refresh } = yield* OrderPayments
        const orderOf = (resellerId: ResellerId, i: number) => {
          const id = OrderId.make(`01930000-0000-7000-8002-${String(i).padStart(12, "0")}`)
          return fixture.store(anOrder({ id, resellerId }))
        }
        const [flooding, another] = [1, 2].map((i) => ResellerId.make(`01930000-0000-7000-8003-00000000000${i}`))
        if (flooding === undefined || another === undefined) throw new Error("a reseller id is missing")
        const orders = Array.from({ length: 100 }, (_, i) => orderOf(flooding, i))
        yield* Effect.forEach(orders, (stored) => Effect.fork(refresh(stored, "reseller")))
        yield* TestClock.adjust("1 seconds")
        expect(fixture.count("refresh")).toBe(16)
        yield* Effect.fork(refresh(orderOf(another, 100), "reseller"))
        yield* Effect.fork(refresh(orderOf(flooding, 101), "webhook"))
        yield* Effect.fork(refresh(orderOf(flooding, 102), "background"))
        yield* TestClock.adjust("1 seconds")
        expect(fixture.count("refresh")).toBe(19)
      })
    )
  )
})

describe("the refreshes of a hanging provider", () => {
  it.effect("do not block an order of another provider", () => {
    const fixture = new TopUpFixture()
    const hanging = { ...fixture.provider(), label: "hangs", refresh: () => Effect.never }
    fixture.providers = [...fixture.providers, hanging]
    return Effect.gen(function* () {
      const { refresh } = yield* OrderPayments
      for (let i = 0; i < 300; i++) {
        const id = OrderId.make(`01930000-0000-7000-8001-${String(i).padStart(12, "0")}`)
        yield* Effect.fork(refresh(fixture.store(anOrder({ id, provider: "hangs" })), "reseller"))
      }
      yield* TestClock.adjust("1 seconds")
      fixture.response = Effect.succeed(anObservation("Paid"))
      expect((yield* refresh(fixture.store(anOrder()), "reseller")).order.status).toBe("credited")
    }).pipe(Effect.provide(fixture.layer))
  })
})
