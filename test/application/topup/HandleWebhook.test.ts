import { describe, expect, it } from "@effect/vitest"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import { BadSignature, type PaymentWebhook, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { TopUpCounters, TopUpCounts } from "@tollgate/application/topup/TopUpCounts"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Effect, Fiber, Layer, Logger, Option, TestClock } from "effect"
import { anOrder, instant, MINUTE } from "../../support/resellers.ts"
import { anObservation, aWebhook, TopUpFixture } from "./TopUpFixture.ts"

const body = new Uint8Array()
const named = orderNumberOf(anOrder().id)
const MISSING = orderNumberOf(OrderId.make("01930000-0000-7000-8000-0000000000ff"))

/** Stores an order that its provider reports as paid. The provider's webhook names the order `number`. */
const notified = (number: string = named, order = anOrder()) => {
  const fixture = new TopUpFixture()
  fixture.store(order)
  fixture.response = Effect.succeed(anObservation("Paid"))
  fixture.providers = [
    fixture.provider({ label: "midtrans", name: "midtrans" }),
    fixture.provider({ webhook: aWebhook({ orderNumber: number }) })
  ]
  return fixture
}

describe("a webhook", () => {
  it.effect("refreshes the order that it names", () => {
    const fixture = notified()
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(fixture.log).toEqual(["refresh", "record", "credit"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("leaves an order pending that the provider reports as pending", () => {
    const fixture = notified()
    fixture.response = Effect.succeed(anObservation("Pending"))
    return Effect.gen(function* () {
      yield* handleWebhook("bsc", {}, body)
      expect(fixture.orders.get(anOrder().id)?.order.status).toBe("pending")
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("is refused without a request to the provider if its signature is wrong", () => {
    const fixture = notified()
    const verify = () => Effect.fail(new BadSignature({ provider: "bsc" }))
    fixture.providers = [fixture.provider({ webhook: { ...aWebhook({}), verify } })]
    return Effect.gen(function* () {
      expect((yield* Effect.flip(handleWebhook("bsc", {}, body)))._tag).toBe("BadSignature")
      expect(fixture.log).toEqual([])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("is counted by its provider and its outcome", () => {
    const counters = new TopUpCounters()
    const handled = (name: string, fixture: TopUpFixture) =>
      Effect.exit(handleWebhook(name, {}, body)).pipe(
        Effect.provide(fixture.layer),
        Effect.provideService(TopUpCounts, counters)
      )
    const verifying = (verify: PaymentWebhook["verify"]) => {
      const fixture = notified()
      fixture.providers = [fixture.provider({ webhook: { ...aWebhook({}), verify } })]
      return fixture
    }
    return Effect.gen(function* () {
      yield* handled("bsc", notified())
      yield* handled("bsc", notified("a number of no order"))
      yield* handled(
        "bsc",
        verifying(() => Effect.fail(new BadSignature({ provider: "bsc" })))
      )
      yield* handled(
        "bsc",
        verifying(() => Effect.dieMessage("broken"))
      )
      yield* handled("unknown", notified())
      expect([...counters.webhooks]).toEqual([["bsc", { accepted: 1, no_order: 1, refused: 1, failed: 1 }]])
    })
  })

  it.effect("is refused if its provider is unknown or has no webhooks", () => {
    const fixture = notified()
    fixture.providers = [fixture.provider()]
    return Effect.gen(function* () {
      for (const name of ["bsc", "unknown"]) {
        expect((yield* Effect.flip(handleWebhook(name, {}, body)))._tag).toBe("NotFound")
      }
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect.each([
    ["an order that does not exist", MISSING, anOrder()],
    ["a text that is not an order number", "RTO-'; drop table", anOrder()],
    ["a test order number of a provider", "payment_notif_test_G123_abc", anOrder()],
    ["an order of another provider", named, anOrder({ provider: "midtrans" })]
  ] as const)("changes nothing if it names %s", ([, number, order]) => {
    const fixture = notified(number, order)
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(fixture.log).toEqual([])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect.each([
    ["alerts an operator if it reports money for an order number without an order", MISSING, true, 1],
    ["alerts no operator if it reports no money for an order number without an order", MISSING, undefined, 0],
    ["alerts no operator if it reports money for an order of another shop", "INV1", true, 0]
  ] as const)("%s", ([, orderNumber, paid, alerts]) => {
    const fixture = notified()
    fixture.providers = [fixture.provider({ webhook: aWebhook({ orderNumber, paid }) })]
    const counters = new TopUpCounters()
    const entries: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void entries.push(`${logLevel.label} ${message}`))
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(counters.all.find(({ method }) => method === "crypto_bep20")?.alerts).toBe(alerts)
      expect(entries.filter((entry) => entry.startsWith("WARN an operator must inspect a payment"))).toHaveLength(
        alerts
      )
      expect(fixture.log).toEqual([])
    }).pipe(
      Effect.provide(Layer.provideMerge(Logger.add(logger), fixture.layer)),
      Effect.provideService(TopUpCounts, counters)
    )
  })

  it.effect("refreshes the order of the original payment if it reports a repeated payment", () => {
    const fixture = notified()
    const calls: Array<ReadonlyArray<string> | undefined> = []
    fixture.providers = [
      fixture.provider({
        webhook: aWebhook({ repeated: { paymentId: "8", originalId: anOrder().providerPaymentId } }),
        refresh: (_, { repeatedPayments }) =>
          Effect.sync(() => {
            calls.push(repeatedPayments)
            return anObservation("Paid")
          })
      })
    ]
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(calls).toEqual([["8"]])
      expect(fixture.log).toEqual(["record", "credit"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect.each([
    [{}, []],
    [{ repeated: { paymentId: "8", originalId: "7" } }, []],
    [{ orderNumber: named, repeated: { paymentId: "8", originalId: "7" } }, ["refresh", "record", "credit"]]
  ] as const)("is acknowledged if it reports %j", ([reported, log]) => {
    const fixture = notified()
    fixture.providers = [fixture.provider({ webhook: aWebhook(reported) })]
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(fixture.log).toEqual(log)
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("is acknowledged after two seconds if the refresh takes longer", () => {
    const fixture = notified()
    fixture.response = Effect.delay(Effect.succeed(anObservation("Paid")), "5 seconds")
    return Effect.gen(function* () {
      const handled = yield* Effect.fork(handleWebhook("bsc", {}, body))
      yield* TestClock.adjust("1999 millis")
      expect(yield* Fiber.poll(handled)).toEqual(Option.none())
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(handled)).toEqual({ success: true })
      expect(fixture.log).toEqual(["refresh"])
      yield* TestClock.adjust("3 seconds")
      expect(fixture.orders.get(anOrder().id)?.order.status).toBe("credited")
    }).pipe(Effect.provide(fixture.layer))
  })

  const credited = { status: "credited", paidAt: instant(1), creditedAt: instant(1) } as const
  const eightDaysLate = instant(MINUTE * 60 + 8 * 24 * 60 * MINUTE)

  it.effect.each([
    ["a credited order that can receive no more money", anOrder({ method: "qris", ...credited }), instant(2)],
    ["an order that expired eight days ago", anOrder({ status: "expired" }), eightDaysLate]
  ] as const)("is not acknowledged if the provider does not report the state of %s", ([, order, now]) => {
    const fixture = notified(named, order)
    fixture.response = Effect.fail(
      new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous: false, detail: "" })
    )
    return Effect.gen(function* () {
      yield* TestClock.setTime(now.getTime())
      expect((yield* Effect.flip(handleWebhook("bsc", {}, body)))._tag).toBe("PaymentProviderUnavailable")
      yield* TestClock.adjust("1 seconds")
      fixture.response = Effect.succeed(anObservation("Paid"))
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(fixture.orders.get(order.id)?.order.status).toBe("credited")
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("is acknowledged without a response of the provider if the order is refreshed later", () => {
    const fixture = notified()
    fixture.response = Effect.never
    return Effect.gen(function* () {
      const handled = yield* Effect.fork(handleWebhook("bsc", {}, body))
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(handled)).toEqual({ success: true })
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("causes one credit if it is sent a hundred times", () => {
    const fixture = notified()
    return Effect.gen(function* () {
      const sent = Effect.all(
        Array.from({ length: 50 }, () => handleWebhook("bsc", {}, body)),
        { concurrency: "unbounded" }
      )
      yield* sent
      const again = yield* Effect.fork(sent)
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(again)
      expect(fixture.log).toEqual(["refresh", "record", "credit", "refresh", "record"])
    }).pipe(Effect.provide(fixture.layer))
  })
})
