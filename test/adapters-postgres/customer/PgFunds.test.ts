import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgFunds from "@tollgate/adapters-postgres/customer/PgFunds"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Funds } from "@tollgate/application/inference/Funds"
import { Mints } from "@tollgate/application/mint/Mints"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { Effect, Layer } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { aCustomer, anOperation, aReseller } = Programme

describe("the funds of a customer", () => {
  layer(Layer.provideMerge(PgFunds.layer, Programme.layer), { excludeTestServices: true })((it) => {
    it.effect("are available while a balance exceeds its holds", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const funds = yield* Funds
        const reseller = yield* aReseller(50_000_000n)
        const { userId, email } = yield* aCustomer(reseller.id)
        const available = funds.areAvailable(userId)
        expect(yield* available).toBe(false)

        const amount = UsdMicro(7n)
        yield* (yield* PaygAccounts).credit({ email, amount, operationId: anOperation(), operator: Stores.operator })
        expect(yield* available).toBe(true)
        yield* sql`UPDATE account SET debits_pending = credits_posted WHERE user_id = ${userId}`
        expect(yield* available).toBe(false)

        const [tier] = yield* Programme.tiersOf("funded", [500, 1_000])
        yield* (yield* Mints).mint(reseller.id, {
          operationId: anOperation(),
          customerEmail: email,
          planTierId: tier?.id ?? ""
        })
        expect(yield* available).toBe(true)
        yield* sql`UPDATE account SET debits_posted = credits_posted WHERE user_id = ${userId} AND kind = 'plan'`
        expect(yield* available).toBe(false)
      })
    )
  })
})
