import { describe, expect, it } from "@effect/vitest"
import { AmountRejected, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { PaymentRefresher } from "@tollgate/application/topup/PaymentRefresher"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { anomaliesOf, excessUsdMicroOf, OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import { anOrder, aReseller } from "../../support/resellers.ts"
import { anOpening, Counter, seen } from "./Counter.ts"

const refresher = PaymentRefresher
const down = (ambiguous = false) =>
  new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous, detail: "connection refused" })
const payer = { name: aReseller().name, email: aReseller().email }

/** A counter with one pending order, and the body run with its refresher. */
const atACounter = <A, E>(
  body: (counter: Counter, stored: ReturnType<Counter["keep"]>) => Effect.Effect<A, E, PaymentRefresher>,
  order = anOrder()
) => {
  const counter = new Counter()
  return Effect.provide(body(counter, counter.keep(order)), counter.layer)
}

describe("a look at an order", () => {
  it.effect("that is paid observes, then credits, in the same call", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = Effect.succeed(seen("Paid"))
        const order = yield* (yield* refresher).refresh(stored)
        expect(order.status).toBe("credited")
        expect(counter.log).toEqual(["refresh", "record", "credit"])
        expect(counter.quota.creditsPosted).toBe(order.quotaUsdMicro)
      })
    )
  )

  it.effect("is one look however many ask at a time, and credits once", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = Effect.delay(Effect.succeed(seen("Paid")), "2 seconds")
        const { refresh } = yield* refresher
        const asked = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 200 }, () => refresh(stored)),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("3 seconds")
        const orders = yield* Fiber.join(asked)
        expect(new Set(orders.map(({ status }) => status))).toEqual(new Set(["credited"]))
        expect(counter.log).toEqual(["refresh", "record", "credit"])
        expect(counter.quota.creditsPosted).toBe(stored.order.quotaUsdMicro)
      })
    )
  )

  it.effect("of real money is taken once a second", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        const { refresh } = yield* refresher
        for (let tenths = 0; tenths <= 20; tenths++) {
          yield* refresh(stored)
          yield* TestClock.adjust("100 millis")
        }
        expect(counter.count("refresh")).toBe(3)
      })
    )
  )

  it.effect("of simulated money is taken whenever somebody asks", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.providers = [counter.provider({ label: "sim", simulated: true })]
        const stored = counter.keep(anOrder({ provider: "sim", simulated: true }))
        yield* Effect.provide(
          Effect.gen(function* () {
            const { refresh } = yield* refresher
            yield* refresh(stored)
            counter.says = Effect.succeed(seen("Paid"))
            expect((yield* refresh(stored)).status).toBe("credited")
          }),
          counter.layer
        )
        expect(counter.count("refresh")).toBe(2)
      })
    )
  )

  it.effect("goes on for the others when the one who asked first leaves", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = Effect.delay(Effect.succeed(seen("Paid")), "2 seconds")
        const { refresh } = yield* refresher
        const first = yield* Effect.fork(refresh(stored))
        yield* Effect.yieldNow()
        const second = yield* Effect.fork(refresh(stored))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        yield* TestClock.adjust("2 seconds")
        expect((yield* Fiber.join(second)).status).toBe("credited")
        expect(counter.count("refresh")).toBe(1)
      })
    )
  )

  it.effect("that finds it crediting credits it without asking anybody: a crash came between", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        const stored = counter.keep(anOrder({ status: "crediting", paidAt: new Date(0) }))
        counter.says = Effect.fail(down())
        expect((yield* (yield* refresher).refresh(stored)).status).toBe("credited")
        expect(counter.log).toEqual(["credit"])
      })
    )
  )

  it.effect("that finds it credited does nothing", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        const credited = { ...stored, order: anOrder({ status: "credited" }) }
        expect(yield* (yield* refresher).refresh(credited)).toBe(credited.order)
        expect(counter.log).toEqual([])
      })
    )
  )

  it.effect("through its credit sees what came besides, and credits nothing more", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        const stored = counter.keep(anOrder({ status: "credited", paidAt: new Date(0), creditedAt: new Date(0) }))
        const received = { receivedRaw: undefined, receivedUsdMicro: UsdMicro(25_000_000n) }
        counter.says = Effect.succeed({ _tag: "Paid", paidAt: undefined, received })
        const { refreshNow, refreshAfterReport } = yield* refresher
        const { order, refreshed } = yield* refreshNow(stored)
        expect({
          refreshed,
          status: order.status,
          anomalies: anomaliesOf(order),
          excess: excessUsdMicroOf(order)
        }).toEqual({ refreshed: true, status: "credited", anomalies: ["overpaid"], excess: 15_000_000n })
        yield* Effect.fork(refreshAfterReport(stored))
        yield* TestClock.adjust("1 seconds")
        expect(counter.log).toEqual(["refresh", "record", "refresh", "record"])
        expect(counter.quota.creditsPosted).toBe(0n)
      })
    )
  )

  it.effect.each([
    ["pending", anOrder(), Effect.fail(down())],
    ["credited", anOrder({ status: "credited" }), Effect.fail(down())],
    ["of nobody who is there", anOrder({ provider: "gone" }), Effect.succeed(seen("Paid"))]
  ] as const)("of which nobody says anything is none: the order is %s", ([, order, says]) =>
    atACounter(
      (counter, stored) =>
        Effect.gen(function* () {
          counter.says = says
          expect(yield* (yield* refresher).refreshNow(stored)).toEqual({ order, refreshed: false })
        }),
      order
    )
  )

  it.effect("that is paid after it expired or failed credits it all the same", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.says = Effect.succeed(seen("Paid"))
        for (const status of ["expired", "failed"] as const) {
          const stored = counter.keep(anOrder({ status }))
          expect((yield* (yield* refresher).refresh(stored)).status).toBe("credited")
          yield* TestClock.adjust("1 seconds")
        }
      })
    )
  )

  it.effect.each([
    ["is down", Effect.fail(down())],
    ["hangs", Effect.never],
    ["breaks", Effect.die("a bug of the adapter")],
    ["gives up by itself", Effect.interrupt]
  ] as const)("whose provider %s leaves the order as it is stored", ([, says]) =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = says
        const refreshed = yield* Effect.fork((yield* refresher).refresh(stored))
        yield* TestClock.adjust("8 seconds")
        expect(yield* Fiber.join(refreshed)).toBe(stored.order)
        expect(counter.log).toEqual(["refresh"])
      })
    )
  )

  it.effect("that is suspicious credits nothing", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = Effect.succeed({ _tag: "Suspicious", received: undefined, reason: "another amount" })
        expect((yield* (yield* refresher).refresh(stored)).status).toBe("pending")
        expect(counter.log).toEqual(["refresh", "record"])
      })
    )
  )

  it.effect.each([
    ["pending, with no simulator", anOrder({ simulated: true, provider: "sim" })],
    ["crediting, with no simulator", anOrder({ simulated: true, provider: "sim", status: "crediting" })],
    ["simulated, with a real provider of its label", anOrder({ simulated: true, provider: "bsc" })],
    ["real, with nobody who took it", anOrder({ provider: "gone" })]
  ] as const)("asks nobody and credits nothing when it is %s", ([, order]) =>
    atACounter(
      (counter, stored) =>
        Effect.gen(function* () {
          expect(yield* (yield* refresher).refresh(stored)).toBe(stored.order)
          expect(counter.log).toEqual([])
        }),
      order
    )
  )

  it.effect("that is paid and real is credited though its provider is gone", () =>
    atACounter(
      (counter, stored) =>
        Effect.gen(function* () {
          expect((yield* (yield* refresher).refresh(stored)).status).toBe("credited")
          expect(counter.log).toEqual(["credit"])
        }),
      anOrder({ provider: "gone", status: "crediting" })
    )
  )
})

describe("another look, because something happened", () => {
  it.effect("begins after the one under way, and after the pause", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        counter.says = Effect.delay(
          Effect.sync(() => seen("Pending")),
          "500 millis"
        )
        const { refresh, refreshAfterReport } = yield* refresher
        yield* Effect.fork(refresh(stored))
        yield* TestClock.adjust("100 millis")
        const woken = yield* Effect.fork(refreshAfterReport(stored))
        yield* TestClock.adjust("400 millis")
        counter.says = Effect.succeed(seen("Paid"))
        yield* TestClock.adjust("900 millis")
        expect(counter.count("refresh")).toBe(1)
        yield* TestClock.adjust("100 millis")
        expect((yield* Fiber.join(woken)).status).toBe("credited")
        expect(counter.count("refresh")).toBe(2)
      })
    )
  )

  it.effect("is one for all who were woken meanwhile", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        const { refresh, refreshAfterReport } = yield* refresher
        yield* refresh(stored)
        counter.says = Effect.succeed(seen("Paid"))
        const woken = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 100 }, () => refreshAfterReport(stored)),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("1 seconds")
        expect((yield* Fiber.join(woken)).map(({ status }) => status)).toEqual(Array(100).fill("credited"))
        expect(counter.log).toEqual(["refresh", "record", "refresh", "record", "credit"])
      })
    )
  )

  it.effect("is taken again for the next news", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        const { refreshAfterReport } = yield* refresher
        yield* refreshAfterReport(stored)
        counter.says = Effect.succeed(seen("Paid"))
        const woken = yield* Effect.fork(refreshAfterReport(stored))
        yield* TestClock.adjust("1 seconds")
        expect((yield* Fiber.join(woken)).status).toBe("credited")
      })
    )
  )

  it.effect("happens though whoever woke us does not wait for it", () =>
    atACounter((counter, stored) =>
      Effect.gen(function* () {
        const { refresh, refreshAfterReport } = yield* refresher
        yield* refresh(stored)
        counter.says = Effect.succeed(seen("Paid"))
        const woken = yield* Effect.fork(refreshAfterReport(stored))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(woken)
        yield* TestClock.adjust("1 seconds")
        expect(counter.orders.get(stored.order.id)?.order.status).toBe("credited")
      })
    )
  )
})

describe("opening a payment", () => {
  const draft = (counter: Counter) => {
    counter.orders.clear()
    const {
      providerPaymentId,
      instructions,
      expiresAt,
      status,
      received,
      evidence,
      paidAt,
      creditedAt,
      checkedAt,
      ...draft
    } = anOrder()
    return draft
  }
  const open = (counter: Counter) =>
    Effect.flatMap(refresher, ({ open }) => open(counter.provider(), draft(counter), payer))

  it.effect("makes the order seen once the provider has opened it", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        const order = yield* open(counter)
        expect(order).toMatchObject({ status: "pending", providerPaymentId: "bsc:0x1" })
        expect(counter.log).toEqual(["open"])
      })
    )
  )

  it.effect("that is refused leaves no order", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.opens = Effect.fail(down())
        const refused = yield* Effect.flip(open(counter))
        expect(refused._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(counter.orders.size).toBe(0)
        expect(counter.abandoned.get(anOrder().id)).toContain("connection refused")
        expect(counter.log).toEqual(["open"])
      })
    )
  )

  it.effect("for an amount the provider does not take says so", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.opens = Effect.fail(new AmountRejected({ provider: "bsc", detail: "too small" }))
        const refused = yield* Effect.flip(open(counter))
        expect(refused).toMatchObject({ _tag: "AmountOutOfRange", path: "amount_usd_micro", bounds: null })
        expect(counter.abandoned.size).toBe(1)
      })
    )
  )

  it.effect.each([
    ["may have happened all the same", Effect.fail(down(true))],
    ["is not answered in time", Effect.never],
    ["breaks the adapter", Effect.die("a bug")]
  ] as const)("that %s is taken back in the background", ([, opens]) =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.opens = opens
        const refused = yield* Effect.fork(Effect.flip(open(counter)))
        yield* TestClock.adjust("20 seconds")
        expect((yield* Fiber.join(refused))._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(counter.log).toEqual(["open", `cancel ${orderNumberOf(anOrder().id)}`])
        expect(counter.abandoned.size).toBe(1)
      })
    )
  )

  it.effect("that took longer than the order waited is taken back", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.abandoned.set(anOrder().id, "stale")
        expect((yield* Effect.flip(open(counter)))._tag).toBe("PaymentProviderUnavailable")
        yield* TestClock.adjust("1 millis")
        expect(counter.count(`cancel ${orderNumberOf(anOrder().id)}`)).toBe(1)
      })
    )
  )

  it.effect("is finished though the client left: what a provider opened has an order", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        const opened = yield* Deferred.make<void>()
        counter.opens = Effect.as(Deferred.await(opened), anOpening())
        const asked = yield* Effect.fork(open(counter))
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.interrupt(asked)
        yield* Deferred.succeed(opened, undefined)
        yield* TestClock.adjust("1 millis")
        expect(counter.orders.size).toBe(1)
      })
    )
  )

  it.effect("is refused, not queued, when too many are being opened", () =>
    atACounter((counter) =>
      Effect.gen(function* () {
        counter.opens = Effect.delay(Effect.succeed(anOpening()), "5 seconds")
        const { open } = yield* refresher
        const asked = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 100 }, (_, i) => {
              const id = OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)
              return Effect.exit(open(counter.provider(), { ...draft(counter), id }, payer))
            }),
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("5 seconds")
        const exits = yield* Fiber.join(asked)
        expect(exits.filter(Exit.isSuccess)).toHaveLength(64)
        counter.opens = Effect.succeed(anOpening())
        expect((yield* open(counter.provider(), draft(counter), payer)).status).toBe("pending")
      })
    )
  )
})
