import { describe, expect, it } from "@effect/vitest"
import { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import { reconcileOpen } from "@tollgate/application/topup/RefreshOpenTopUps"
import { OrderId } from "@tollgate/domain/topup/OrderId"
import { Effect } from "effect"
import { anOrder } from "../../support/resellers.ts"
import { Counter, seen } from "./Counter.ts"

const numbered = (i: number) => OrderId.make(`01930000-0000-7000-8000-${String(i).padStart(12, "0")}`)
const down = new ProviderUnavailable({ provider: "bsc", kind: "network", ambiguous: false, detail: "refused" })

describe("all open orders", () => {
  it.effect("are looked at, however many there are", () => {
    const counter = new Counter()
    counter.says = Effect.succeed(seen("Paid"))
    for (let i = 0; i < 1_201; i++) counter.keep(anOrder({ id: numbered(i) }))
    counter.keep(anOrder({ id: numbered(5_000), status: "crediting", paidAt: new Date(0) }))
    return Effect.gen(function* () {
      expect(yield* reconcileOpen).toEqual({ looked: 1_202, answered: 1_202, credited: 1_202, unasked: 0 })
      expect(counter.count("check")).toBe(1_201)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("are counted once, also when no provider answers and they are still due", () => {
    const counter = new Counter()
    counter.says = Effect.fail(down)
    counter.due.push(Array.from({ length: 22 }, (_, i) => counter.keep(anOrder({ id: numbered(i) }))))
    return Effect.gen(function* () {
      expect(yield* reconcileOpen).toEqual({ looked: 22, answered: 0, credited: 0, unasked: 0 })
      expect(counter.count("check")).toBe(22)
    }).pipe(Effect.provide(counter.layer))
  })

  it.effect("of real money whose provider is not there are told apart, and nobody is asked", () => {
    const counter = new Counter()
    counter.keep(anOrder({ id: numbered(1), provider: "gone" }))
    counter.keep(anOrder({ id: numbered(2), provider: "sim", simulated: true }))
    return Effect.gen(function* () {
      expect(yield* reconcileOpen).toEqual({ looked: 0, answered: 0, credited: 0, unasked: 1 })
      expect(counter.count("check")).toBe(0)
    }).pipe(Effect.provide(counter.layer))
  })
})
