import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { AdjustmentConflict, InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import { Effect, Either } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { adjust, anOperation, aReseller, balance } = Programme
const UNKNOWN_RESELLER = ResellerId.make("0193a5c2-0000-7000-8000-000000000000")

describe("a quota", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("is increased and decreased by an operator", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id } = yield* aReseller()
        const [up, down] = [anOperation(), anOperation()]
        expect(yield* adjust(id, 9n, up)).toEqual({
          resellerId: id,
          change: 9n,
          operationId: up,
          balanceUsdMicro: 9n,
          alreadyApplied: false
        })
        expect(yield* adjust(id, -4n, down)).toMatchObject({ balanceUsdMicro: 5n })
        expect(yield* balance(id)).toBe(5n)
        const entry = { ...Stores.operator, action: "quota.adjust" }
        expect(yield* Programme.audited(id)).toEqual([
          expect.objectContaining({ action: "reseller.approve" }),
          { ...entry, detail: { usd_micro: "9", operation_id: up } },
          { ...entry, detail: { usd_micro: "-4", operation_id: down } }
        ])
        expect(yield* sql`SELECT amount, actor FROM transfer WHERE ref = ${down}`).toEqual([
          { amount: 4n, actor: "ada" }
        ])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("is not adjusted below zero", () =>
      Effect.gen(function* () {
        const { id } = yield* aReseller(5n)
        const operation = anOperation()
        expect(yield* Effect.flip(adjust(id, -6n, operation))).toEqual(
          new InsufficientQuota({ balanceUsdMicro: 5n, neededUsdMicro: 6n })
        )
        // The operation id of a refused adjustment can be used again.
        expect(yield* adjust(id, -5n, operation)).toMatchObject({ balanceUsdMicro: 0n, alreadyApplied: false })
      })
    )

    it.effect("does not change for a repeated adjustment", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const operationId = anOperation()
        const first = yield* adjust(one.id, 5n, operationId)
        expect(yield* adjust(one.id, 5n, operationId)).toEqual({ ...first, alreadyApplied: true })
        const conflict = new AdjustmentConflict({ operationId })
        for (const [id, change] of [
          [one.id, 6n],
          [one.id, -5n],
          [other.id, 5n]
        ] as const) {
          expect(yield* Effect.flip(adjust(id, change, operationId))).toEqual(conflict)
        }
        expect(yield* Effect.flip(adjust(UNKNOWN_RESELLER, 1n))).toEqual(
          new ResellerNotFound({ reseller: UNKNOWN_RESELLER })
        )
        expect([yield* balance(one.id), yield* balance(other.id)]).toEqual([5n, 0n])
      })
    )

    it.effect("is adjusted once by forty concurrent adjustments with one operation id", () =>
      Effect.gen(function* () {
        const both = [yield* aReseller(), yield* aReseller()] as const
        const operationId = anOperation()
        const outcomes = yield* Effect.all(
          Array.from({ length: 40 }, (_, i) => Effect.either(adjust(both[i % 2 === 0 ? 0 : 1].id, 5n, operationId))),
          { concurrency: "unbounded" }
        )
        const applied = outcomes.flatMap((one) => (Either.isRight(one) ? [one.right] : []))
        expect(applied).toHaveLength(20)
        expect(applied.filter(({ alreadyApplied }) => !alreadyApplied)).toHaveLength(1)
        const balances = yield* Effect.forEach(both, ({ id }) => balance(id))
        expect([...balances].sort()).toEqual([0n, 5n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("allows only the concurrent deductions that it covers", () =>
      Effect.gen(function* () {
        const { id } = yield* aReseller(20n)
        const outcomes = yield* Effect.all(
          Array.from({ length: 30 }, () => Effect.either(adjust(id, -1n))),
          { concurrency: "unbounded" }
        )
        const balances = outcomes.flatMap((one) => (Either.isRight(one) ? [one.right.balanceUsdMicro] : []))
        expect(new Set(balances).size).toBe(20)
        expect(yield* balance(id)).toBe(0n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
