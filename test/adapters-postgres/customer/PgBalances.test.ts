import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { Balances } from "@tollgate/application/customer/Balances"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Mints } from "@tollgate/application/mint/Mints"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { Effect } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { aCustomer, anOperation, aReseller } = Programme
const NO_ID = "0193a5c2-0000-7000-8000-000000000000"

describe("the balances of a customer", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("equal credits plus mints minus settled usage", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const balances = yield* Balances
        const reseller = yield* aReseller(50_000_000n)
        const { userId, email } = yield* aCustomer(reseller.id)
        yield* (yield* PaygAccounts).credit({
          email,
          amount: UsdMicro(7n),
          operationId: anOperation(),
          operator: Stores.operator
        })
        for (const model of ["zeta", "Alpha"]) {
          const [tier] = yield* Programme.tiersOf(model, [500, 1_000])
          const request = { operationId: anOperation(), customerEmail: email, planTierId: tier?.id ?? "" }
          yield* (yield* Mints).mint(reseller.id, request)
        }
        yield* sql`UPDATE account SET debits_posted = 1000 WHERE user_id = ${userId} AND kind = 'plan'
          AND model_id = (SELECT id FROM model WHERE public_name = 'zeta')`
        yield* sql`UPDATE account SET debits_pending = 5 WHERE user_id = ${userId} AND kind = 'plan' AND debits_posted = 0`

        const statement = yield* balances.ofCustomer(reseller.id, userId)
        expect(statement).toMatchObject({
          userId,
          balances: {
            paygPico: 7_000_000n,
            plans: [
              { model: "Alpha", purchased: 1_000n, used: 0n, remaining: 1_000n, status: "active" },
              { model: "zeta", purchased: 1_000n, used: 1_000n, remaining: 0n, status: "exhausted" }
            ]
          }
        })
        expect(Programme.isNow(statement.asOf)).toBe(true)
        const apiKeys = yield* ApiKeys
        const { key } = yield* apiKeys.create(email, "k", Stores.operator)
        yield* apiKeys.revoke(key.id, Stores.operator)
        expect(yield* balances.ofKeyOwner(reseller.id, key.id)).toEqual({ ...statement, asOf: expect.any(Date) })
      })
    )

    it.effect("are zero without accounts", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        expect((yield* (yield* Balances).ofCustomer(reseller.id, userId)).balances).toEqual({ paygPico: 0n, plans: [] })
      })
    )

    it.effect("are not found by another reseller", () =>
      Effect.gen(function* () {
        const balances = yield* Balances
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId, email } = yield* aCustomer(other.id)
        const { key } = yield* (yield* ApiKeys).create(email, "k", Stores.operator)
        for (const id of [userId, (yield* Stores.aUser).id, UserId.make(NO_ID)]) {
          expect(yield* Effect.flip(balances.ofCustomer(one.id, id))).toEqual(new NotFound({ what: "customer" }))
        }
        for (const id of [key.id, ApiKeyId.make(NO_ID)]) {
          expect(yield* Effect.flip(balances.ofKeyOwner(one.id, id))).toEqual(new NotFound({ what: "key" }))
        }
      })
    )
  })
})
