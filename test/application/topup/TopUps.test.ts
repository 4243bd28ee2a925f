import { describe, expect, it } from "@effect/vitest"
import { refreshForOperator } from "@tollgate/application/operator/OperatorTopUps"
import { type OpenedPayment, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { createTopUp, refreshForReseller, TopUpPolicy } from "@tollgate/application/topup/TopUps"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import { Deferred, Effect, Fiber, Option, TestClock } from "effect"
import { anOrder, aReseller } from "../../support/resellers.ts"
import { anObservation, anOpening, TopUpFixture } from "./TopUpFixture.ts"

const other = ResellerId.make("01930000-0000-7000-8000-000000000002")
const create = (request: Parameters<typeof createTopUp>[1]) =>
  Effect.provideService(createTopUp(aReseller(), request), TopUpPolicy, { bounds: defaultBounds })

describe("a new top-up", () => {
  it.effect("is opened by the provider of its payment method", () => {
    const fixture = new TopUpFixture()
    return Effect.gen(function* () {
      const { order } = yield* create({ method: "crypto_bep20", amount_usd_micro: 10_000_000 })
      expect(order).toMatchObject({ status: "pending", provider: "bsc", resellerId: aReseller().id })
      expect(fixture.log).toEqual(["open"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect.each([
    ["its method has no provider", { method: "qris", amount_idr: 10_000 }, "PaymentProviderUnavailable"],
    ["its amount is too small", { method: "crypto_bep20", amount_usd_micro: 1 }, "AmountOutOfRange"],
    [
      "its fields contradict each other",
      { method: "crypto_bep20", amount_idr: 1, amount_usd_micro: 10_000_000 },
      "ValidationFailed"
    ]
  ] as const)("is refused without a request to a provider if %s", ([, request, tag]) => {
    const fixture = new TopUpFixture()
    return Effect.gen(function* () {
      expect((yield* Effect.flip(create(request)))._tag).toBe(tag)
      expect(fixture.log).toEqual([])
    }).pipe(Effect.provide(fixture.layer))
  })
})

describe("a top-up with an operation id", () => {
  const operation_id = OperationId.make("topup-1")
  const request = { method: "crypto_bep20", amount_usd_micro: 10_000_000, operation_id } as const

  it.effect("is opened once for two requests", () => {
    const fixture = new TopUpFixture()
    return Effect.gen(function* () {
      const gate = yield* Deferred.make<OpenedPayment>()
      fixture.opening = Deferred.await(gate)
      const first = yield* Effect.fork(create(request))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(create(request))
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.poll(second)).toEqual(Option.none())
      yield* Deferred.succeed(gate, anOpening())
      yield* TestClock.adjust("2 seconds")
      const [created, repeated] = [yield* Fiber.join(first), yield* Fiber.join(second)]
      expect(repeated.order).toEqual(created.order)
      expect([created.alreadyApplied, repeated.alreadyApplied]).toEqual([false, true])
      expect(yield* create({ ...request, token_kind: "usdt" })).toEqual(repeated)
      expect(fixture.log).toEqual(["open"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("is opened by a repeat if the first opening failed", () => {
    const fixture = new TopUpFixture()
    const success = fixture.opening
    return Effect.gen(function* () {
      fixture.opening = Effect.fail(
        new ProviderUnavailable({ provider: "bsc", kind: "timeout", ambiguous: false, detail: "" })
      )
      expect((yield* Effect.flip(create(request)))._tag).toBe("PaymentProviderUnavailable")
      fixture.opening = success
      expect(yield* create(request)).toMatchObject({ alreadyApplied: false, order: { status: "pending" } })
      expect(fixture.log).toEqual(["open", "open"])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("fails for a repeat while the first request hangs", () => {
    const fixture = new TopUpFixture()
    return Effect.gen(function* () {
      fixture.drafts.set(operation_id, anOrder())
      const repeat = yield* Effect.fork(Effect.flip(create({ ...request })))
      yield* TestClock.adjust("25 seconds")
      expect((yield* Fiber.join(repeat))._tag).toBe("PaymentProviderUnavailable")
    }).pipe(Effect.provide(fixture.layer))
  })
})

describe("reading an order", () => {
  it.effect("returns the order after a refresh", () => {
    const fixture = new TopUpFixture()
    fixture.store(anOrder())
    fixture.response = Effect.succeed(anObservation("Paid"))
    return Effect.gen(function* () {
      expect((yield* refreshForReseller(aReseller().id, anOrder().id)).status).toBe("credited")
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect.each([
    ["the id of another reseller's order", other, anOrder().id],
    ["an unknown id", aReseller().id, "01930000-0000-7000-8000-0000000000ff"],
    ["the order number", aReseller().id, orderNumberOf(anOrder().id)],
    ["an invalid id", aReseller().id, "../etc"]
  ] as const)("finds no order for a reseller by %s", ([, reseller, id]) => {
    const fixture = new TopUpFixture()
    fixture.store(anOrder())
    return Effect.gen(function* () {
      expect((yield* Effect.flip(refreshForReseller(reseller, id)))._tag).toBe("TopUpNotFound")
      expect(fixture.log).toEqual([])
    }).pipe(Effect.provide(fixture.layer))
  })

  it.effect("finds the order for an operator by its id and by its order number", () => {
    const fixture = new TopUpFixture()
    fixture.store(anOrder({ status: "credited" }))
    return Effect.gen(function* () {
      for (const name of [anOrder().id, orderNumberOf(anOrder().id)]) {
        expect((yield* refreshForOperator(name)).stored.order.id).toBe(anOrder().id)
      }
      expect((yield* Effect.flip(refreshForOperator("nonsense")))._tag).toBe("TopUpNotFound")
    }).pipe(Effect.provide(fixture.layer))
  })
})
