import { describe, expect, it } from "@effect/vitest"
import { createTopUp, refreshTopUp, refreshTopUpForOperator, TopUpPolicy } from "@tollgate/application/topup/TopUps"
import { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import { Effect } from "effect"
import { anOrder, aReseller } from "../../support/resellers.ts"
import { Counter, seen } from "./Counter.ts"

const other = ResellerId.make("01930000-0000-7000-8000-000000000002")
const create = (request: Parameters<typeof createTopUp>[1]) =>
  Effect.provideService(createTopUp(aReseller(), request), TopUpPolicy, { bounds: defaultBounds })

describe("a new top-up", () => {
  it.effect("is opened with the provider of its method", () => {
    const counter = new Counter()
    return Effect.gen(function* () {
      const order = yield* create({ method: "crypto_bep20", amount_usd_micro: 10_000_000 })
      expect(order).toMatchObject({ status: "pending", provider: "bsc", resellerId: aReseller().id })
      expect(counter.log).toEqual(["open"])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect.each([
    ["of a method nobody takes payments for", { method: "qris", amount_idr: 10_000 }, "PaymentProviderUnavailable"],
    ["of too little", { method: "crypto_bep20", amount_usd_micro: 1 }, "AmountOutOfRange"],
    [
      "that contradicts itself",
      { method: "crypto_bep20", amount_idr: 1, amount_usd_micro: 10_000_000 },
      "ValidationFailed"
    ]
  ] as const)("%s is refused before any provider hears of it", ([, request, tag]) => {
    const counter = new Counter()
    return Effect.gen(function* () {
      expect((yield* Effect.flip(create(request)))._tag).toBe(tag)
      expect(counter.log).toEqual([])
    }).pipe(Effect.provide(counter.layer))
  })
})

describe("an order that is read", () => {
  it.effect("is reconciled first", () => {
    const counter = new Counter()
    counter.keep(anOrder())
    counter.says = Effect.succeed(seen("Paid"))
    return Effect.gen(function* () {
      expect((yield* refreshTopUp(aReseller().id, anOrder().id)).status).toBe("credited")
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("is not found by another reseller, nor by an id that is none, and nobody is asked", () => {
    const counter = new Counter()
    counter.keep(anOrder())
    return Effect.gen(function* () {
      for (const [reseller, id] of [
        [other, anOrder().id],
        [aReseller().id, "01930000-0000-7000-8000-0000000000ff"],
        [aReseller().id, orderNumberOf(anOrder().id)],
        [aReseller().id, "../etc"]
      ] as const) {
        expect((yield* Effect.flip(refreshTopUp(reseller, id)))._tag).toBe("TopUpNotFound")
      }
      expect(counter.log).toEqual([])
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("is found by an operator by id or number", () => {
    const counter = new Counter()
    counter.keep(anOrder({ status: "credited" }))
    return Effect.gen(function* () {
      for (const name of [anOrder().id, orderNumberOf(anOrder().id)]) {
        expect((yield* refreshTopUpForOperator(name)).order.id).toBe(anOrder().id)
      }
      expect((yield* Effect.flip(refreshTopUpForOperator("nonsense")))._tag).toBe("TopUpNotFound")
    }).pipe(Effect.provide(counter.layer))
  })
})
