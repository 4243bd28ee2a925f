import { describe, expect, layer } from "@effect/vitest"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { Effect, FastCheck } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"
import { aNode, openHolds } from "../ledger/Customers.ts"
import * as Market from "./Market.ts"

const CONNECTIONS = 4
const REPETITIONS = 5
const PER_CONNECTION = 100

describe("random concurrent actions of resellers, customers and providers", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.scoped("keep the ledger consistent", () =>
      Effect.gen(function* () {
        const tiers = yield* Programme.tiersOf("m", [1, 500], [2, 1_200])
        const model = (yield* (yield* Catalogs).load).models.find(({ publicName }) => publicName === "m")
        if (model === undefined) return yield* Effect.dieMessage("there is no model")
        const connections = yield* Effect.all(Array.from({ length: CONNECTIONS }, () => Programme.anotherNode))
        const nodes = yield* Effect.all([aNode({ batchSize: 5, queues: 2 }), aNode({ batchSize: 3 })])

        const done = { credited: 0, minted: 0, revoked: 0 }
        for (let repetition = 0; repetition < REPETITIONS; repetition++) {
          const market = yield* Market.open(
            model,
            tiers.map(({ id }) => id),
            nodes.map(({ ledger }) => ledger)
          )
          yield* Effect.forEach(
            connections,
            (connection) =>
              Effect.forEach(
                FastCheck.sample(Market.action, PER_CONNECTION),
                (action) => market.actions[action.kind](action),
                {
                  discard: true
                }
              ).pipe(Effect.provide(connection)),
            { concurrency: CONNECTIONS }
          )
          expect(yield* openHolds).toBe(0n)
          expect(yield* Stores.brokenInvariants).toEqual([])
          const { credited, minted, revoked } = yield* market.close
          expect(yield* Stores.brokenInvariants).toEqual([])
          done.credited += credited
          done.minted += minted
          done.revoked += revoked
        }
        // If only a few actions had succeeded, concurrent actions might never have conflicted.
        expect(done.credited).toBeGreaterThan(30)
        expect(done.minted).toBeGreaterThan(30)
        expect(done.revoked).toBeGreaterThan(5)
      })
    )
  })
})
