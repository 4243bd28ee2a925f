import { describe, expect, it } from "@effect/vitest"
import { CustomerKeys, createCustomerKey, revokeCustomerKey } from "@tollgate/application/customer/ApiKeys"
import { Balances, customerBalances, keyBalances } from "@tollgate/application/customer/Balances"
import { readUsage, resellerReader, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { UsageItem } from "@tollgate/domain/customer/Usage"
import type { UserId } from "@tollgate/domain/customer/User"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico, zero } from "@tollgate/domain/money/UsdPico"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import { Effect, FastCheck, Layer, Option } from "effect"
import { aReseller, instant } from "../../support/resellers.ts"

const id = (n: number) => `01930000-0000-7000-8000-${String(n).padStart(12, "0")}`

const item = (n: number, micros: number): UsageItem => ({
  position: { atMicros: BigInt(micros), id: RequestId(id(n)) },
  userId: "ada" as UserId,
  model: "small",
  totalTokens: Tokens(1n),
  costPico: UsdPico(1n),
  settledAt: instant(0)
})

/** Provides a store of these items, which returns the newest first, and a sealer of cursors. */
const usageOf = (items: Array<UsageItem>) =>
  Layer.mergeAll(
    Layer.succeed(SettledUsage, {
      read: (_, { limit, after }) =>
        Effect.sync(() =>
          items
            .filter(({ position }) => after === undefined || isBelow(position, after))
            .sort((a, b) => (isBelow(b.position, a.position) ? -1 : 1))
            .slice(0, limit)
        ),
      days: () => Effect.succeed([])
    }),
    Layer.succeed(CursorSealer, {
      seal: (text) => `sealed ${text}`,
      open: (cursor) => (cursor.startsWith("sealed ") ? Option.some(cursor.slice(7)) : Option.none())
    })
  )

const isBelow = (a: UsageItem["position"], b: UsageItem["position"]) =>
  a.atMicros < b.atMicros || (a.atMicros === b.atMicros && a.id < b.id)

describe("the pages of settled usage", () => {
  it.effect.prop(
    "contain each earlier item once while new items are added",
    [
      FastCheck.uniqueArray(FastCheck.tuple(FastCheck.integer({ min: 1, max: 20 }), FastCheck.nat(1_000)), {
        selector: ([, n]) => n,
        maxLength: 40
      }),
      FastCheck.integer({ min: 1, max: 7 }),
      FastCheck.nat(3)
    ],
    ([settled, limit, arriving]) => {
      const items = settled.map(([micros, n]) => item(n, micros))
      const expected = [...items]
      return Effect.gen(function* () {
        const read: Array<UsageItem> = []
        let cursor: string | null | undefined
        for (let page = 0; cursor !== null && page < 100; page++) {
          const found = yield* readUsage(resellerReader(aReseller().id), { limit: `${limit}`, cursor })
          expect(found.items.length).toBeLessThanOrEqual(limit)
          read.push(...found.items)
          cursor = found.nextCursor
          for (let i = 0; i < arriving; i++) items.push(item(2_000 + page * 10 + i, 1_000 + page))
        }
        expect(cursor).toBeNull()
        expect(read.map(({ position }) => position.id).sort()).toEqual(
          expected.map(({ position }) => position.id).sort()
        )
        expect(
          read.every(({ position }, i) => {
            const before = read[i - 1]
            return before === undefined || isBelow(position, before.position)
          })
        ).toBe(true)
      }).pipe(Effect.provide(usageOf(items)))
    },
    { fastCheck: { numRuns: 100 } }
  )

  it.effect("end with a null cursor", () =>
    Effect.gen(function* () {
      expect((yield* readUsage(resellerReader(aReseller().id), { limit: "2" })).nextCursor).toBeNull()
      expect((yield* readUsage(resellerReader(aReseller().id), { limit: "1" })).nextCursor).toBe(`sealed u1 2 ${id(2)}`)
    }).pipe(Effect.provide(usageOf([item(1, 1), item(2, 2)])))
  )

  it.effect("refuse a cursor that the sealer cannot open", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(readUsage(resellerReader(aReseller().id), { cursor: "x" }))
      const details = [{ path: "cursor", message: "the `next_cursor` of an earlier response" }]
      expect(refused).toEqual(new ValidationFailed({ details }))
    }).pipe(Effect.provide(usageOf([])))
  )
})

describe("an id in a URL", () => {
  const statement = { userId: "ada" as UserId, balances: { paygPico: zero, plans: [] }, asOf: instant(0) }
  const ports = Layer.mergeAll(
    Layer.mock(CustomerKeys, {}),
    Layer.succeed(Balances, {
      ofCustomer: () => Effect.succeed(statement),
      ofKeyOwner: () => Effect.succeed(statement),
      own: () => Effect.succeed(statement)
    })
  )
  const reseller = aReseller().id

  it.effect("that is not a UUID causes a validation error for balances", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(keyBalances(reseller, "x"))).toMatchObject({ details: [{ path: "keyID" }] })
      expect(yield* Effect.flip(customerBalances(reseller, "x"))).toMatchObject({ details: [{ path: "userID" }] })
    }).pipe(Effect.provide(ports))
  )

  it.effect("that is not a UUID causes a not-found error for keys", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(createCustomerKey(reseller, "x", "n"))).toMatchObject({
        _tag: "NotFound",
        what: "customer"
      })
      expect(yield* Effect.flip(revokeCustomerKey(reseller, "x"))).toMatchObject({ _tag: "NotFound", what: "key" })
    }).pipe(Effect.provide(ports))
  )

  it.effect("of a key is returned with the balances of the key's owner", () =>
    Effect.gen(function* () {
      expect(yield* keyBalances(reseller, id(7))).toEqual({ keyId: id(7), ...statement })
    }).pipe(Effect.provide(ports))
  )
})
