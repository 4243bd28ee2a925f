import { describe, expect, it } from "@effect/vitest"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Effect, Fiber, TestClock } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { aWebhook, Counter, seen } from "./Counter.ts"

const body = new Uint8Array()
const named = orderNumberOf(anOrder().id)

/** A counter whose provider sends a webhook about this order. */
const woken = (number: string = named, order = anOrder()) => {
  const counter = new Counter()
  counter.keep(order)
  counter.says = Effect.succeed(seen("Paid"))
  counter.providers = [
    counter.provider({ label: "midtrans", name: "midtrans" }),
    counter.provider({ webhook: aWebhook({ orderNumber: number }) })
  ]
  return counter
}

describe("a webhook", () => {
  it.effect("makes us ask, and is acknowledged in the provider's words", () => {
    const counter = woken()
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(counter.log).toEqual(["refresh", "record", "credit"])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("is not believed: the provider says pending, so it is pending", () => {
    const counter = woken()
    counter.says = Effect.succeed(seen("Pending"))
    return Effect.gen(function* () {
      yield* handleWebhook("bsc", {}, body)
      expect(counter.orders.get(anOrder().id)?.order.status).toBe("pending")
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("of a wrong signature is refused, and nobody is asked", () => {
    const counter = woken()
    const verify = () => Effect.fail(new BadSignature({ provider: "bsc" }))
    counter.providers = [counter.provider({ webhook: { ...aWebhook({}), verify } })]
    return Effect.gen(function* () {
      expect((yield* Effect.flip(handleWebhook("bsc", {}, body)))._tag).toBe("BadSignature")
      expect(counter.log).toEqual([])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("of a provider we do not have, or that has none, is not found", () => {
    const counter = woken()
    counter.providers = [counter.provider()]
    return Effect.gen(function* () {
      for (const name of ["bsc", "nobody"]) {
        expect((yield* Effect.flip(handleWebhook(name, {}, body)))._tag).toBe("NotFound")
      }
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect.each([
    ["an order nobody has", orderNumberOf("01930000-0000-7000-8000-0000000000ff" as never), anOrder()],
    ["something that is no order number", "RTO-'; drop table", anOrder()],
    ["a test", "payment_notif_test_G123_abc", anOrder()],
    ["an order of another provider", named, anOrder({ provider: "midtrans" })]
  ] as const)("that names %s is acknowledged all the same, and nothing is done", ([, number, order]) => {
    const counter = woken(number, order)
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(counter.log).toEqual([])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("about a payment that repeats one of an order is about that order, and is asked about with it", () => {
    const counter = woken()
    const asked: Array<ReadonlyArray<string> | undefined> = []
    counter.providers = [
      counter.provider({
        webhook: aWebhook({ repeated: { paymentId: "8", originalId: anOrder().providerPaymentId } }),
        refresh: (_, { repeatedPayments }) =>
          Effect.sync(() => {
            asked.push(repeatedPayments)
            return seen("Paid")
          })
      })
    ]
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(asked).toEqual([["8"]])
      expect(counter.log).toEqual(["record", "credit"])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect.each([
    [{}, []],
    [{ repeated: { paymentId: "8", originalId: "7" } }, []],
    [{ orderNumber: named, repeated: { paymentId: "8", originalId: "7" } }, ["refresh", "record", "credit"]]
  ] as const)("that is about %j is acknowledged", ([reported, log]) => {
    const counter = woken()
    counter.providers = [counter.provider({ webhook: aWebhook(reported) })]
    return Effect.gen(function* () {
      expect(yield* handleWebhook("bsc", {}, body)).toEqual({ success: true })
      expect(counter.log).toEqual(log)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("is acknowledged in two seconds, and the look goes on", () => {
    const counter = woken()
    counter.says = Effect.delay(Effect.succeed(seen("Paid")), "5 seconds")
    return Effect.gen(function* () {
      const handled = yield* Effect.fork(handleWebhook("bsc", {}, body))
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(handled)).toEqual({ success: true })
      expect(counter.log).toEqual(["refresh"])
      yield* TestClock.adjust("3 seconds")
      expect(counter.orders.get(anOrder().id)?.order.status).toBe("credited")
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("sent again and again credits once", () => {
    const counter = woken()
    return Effect.gen(function* () {
      const sent = Effect.all(
        Array.from({ length: 50 }, () => handleWebhook("bsc", {}, body)),
        { concurrency: "unbounded" }
      )
      yield* sent
      const again = yield* Effect.fork(sent)
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(again)
      expect(counter.log).toEqual(["refresh", "record", "credit", "refresh", "record"])
    }).pipe(Effect.provide(counter.layer))
  })
})
