import { describe, expect, layer } from "@effect/vitest"
import { CustomerKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import { MintHistory } from "@tollgate/application/mint/MintHistory"
import { Mints } from "@tollgate/application/mint/Mints"
import { QuotaMovements } from "@tollgate/application/reseller/QuotaMovements"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Position } from "@tollgate/domain/validation/Cursor"
import { Effect } from "effect"
import * as Programme from "../../support/Programme.ts"

const range = { from: undefined, before: undefined }

/** The lists of a reseller. Each list has the method that reads a page, and the method that adds a row. */
const aProgramme = Effect.gen(function* () {
  const { id } = yield* Programme.aReseller(1_000_000_000n)
  const [one, two] = [yield* Programme.aCustomer(id), yield* Programme.aCustomer(id)]
  const [tier] = yield* Programme.tiersOf(`lists-${id}`, [100, 1_000])
  const { create } = yield* CustomerKeys
  const { ofReseller, ofCustomer } = yield* KeyLists
  const [{ mint }, { list: mints }, { list: movements }] = [yield* Mints, yield* MintHistory, yield* QuotaMovements]
  let count = 0
  const addKey = Effect.asVoid(
    Effect.suspend(() => create(id, count++ % 2 === 0 ? one.userId : two.userId, `key ${count}`))
  )
  const addMint = Effect.suspend(() =>
    mint(id, { operationId: Programme.anOperation(), customerEmail: one.email, planTierId: tier?.id ?? "" })
  ).pipe(Effect.asVoid, Effect.orDie)
  return {
    id,
    customers: [one.userId, two.userId] as const,
    lists: [
      { read: (limit: number, after?: Position) => ofReseller(id, { limit, after }), add: Effect.orDie(addKey) },
      {
        read: (limit: number, after?: Position) => ofCustomer(id, one.userId, { limit, after }),
        add: Effect.orDie(addKey)
      },
      { read: (limit: number, after?: Position) => mints(id, { limit, after, range }), add: addMint },
      {
        read: (limit: number, after?: Position) => movements(id, { limit, after, range }),
        add: Effect.orDie(Effect.asVoid(Effect.suspend(() => Programme.adjust(id, 1_000n))))
      }
    ]
  }
})

type Read<E, R> = (
  limit: number,
  after?: Position
) => Effect.Effect<ReadonlyArray<{ readonly position: Position }>, E, R>

/** Reads all pages, and runs `between` before each further page. */
const pagesOf = <E, R, E2, R2>(read: Read<E, R>, limit: number, between: Effect.Effect<unknown, E2, R2>) =>
  Effect.gen(function* () {
    const positions: Array<Position> = []
    for (;;) {
      const page = yield* read(limit, positions.at(-1))
      expect(page.length).toBeLessThanOrEqual(limit)
      positions.push(...page.map(({ position }) => position))
      if (page.length < limit) return positions
      yield* between
    }
  })

describe("the lists of a reseller", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("contain each earlier row once while rows are added", () =>
      Effect.gen(function* () {
        const { lists } = yield* aProgramme
        for (const { read, add } of lists) {
          yield* Effect.repeatN(add, 3)
          for (const limit of [1, 3]) {
            const before = (yield* read(100)).map(({ position }) => position)
            expect(before.length).toBeGreaterThan(2)
            expect(yield* pagesOf(read, limit, add)).toEqual(before)
          }
          const keys = (yield* read(100)).map(({ position }) => `${position.atMicros} ${position.id}`)
          expect(keys).toEqual([...new Set(keys)].sort().reverse())
        }
      })
    )

    it.effect("contain no rows of another reseller", () =>
      Effect.gen(function* () {
        const [mine, other] = [yield* aProgramme, yield* aProgramme]
        for (const { add } of other.lists) yield* Effect.repeatN(add, 1)
        const [keys, , mints] = mine.lists
        expect(yield* keys?.read(9) ?? Effect.succeed([])).toEqual([])
        expect(yield* mints?.read(9) ?? Effect.succeed([])).toEqual([])
        const movements = yield* movementsOf(mine.id)
        expect(movements).toMatchObject([{ kind: "adjustment", changeUsdMicro: 1_000_000_000n, reference: undefined }])
        const { ofCustomer } = yield* KeyLists
        const refused = yield* Effect.flip(ofCustomer(mine.id, other.customers[0], { limit: 9, after: undefined }))
        expect(refused).toMatchObject({ _tag: "NotFound", what: "customer" })
      })
    )

    it.effect("contain movements whose sum is the quota", () =>
      Effect.gen(function* () {
        const { id, lists } = yield* aProgramme
        yield* lists[2]?.add ?? Effect.void
        yield* Programme.adjust(id, -250_000n)
        const order = yield* Programme.anOrder(id)
        yield* Programme.recordObservation(order.id, Programme.paid)
        yield* Programme.credit(order.id)
        const movements = yield* movementsOf(id)
        expect(movements.map(({ kind, changeUsdMicro }) => [kind, changeUsdMicro])).toEqual([
          ["topup", 10_000_000n],
          ["adjustment", -250_000n],
          ["mint", -1_000_000n],
          ["adjustment", 1_000_000_000n]
        ])
        expect(movements.map(({ reference }) => reference)).toEqual([
          `RTO-${order.id}`,
          undefined,
          expect.stringMatching(/^operation /),
          undefined
        ])
        const sum = movements.reduce((total, { changeUsdMicro }) => total + changeUsdMicro, 0n)
        expect(sum).toBe(yield* Programme.balance(id))
      })
    )
  })
})

const movementsOf = (id: ResellerId) =>
  Effect.flatMap(QuotaMovements, ({ list }) => list(id, { limit: 99, after: undefined, range }))
