import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Users } from "@tollgate/application/customer/Users"
import { CreditConflict, MAX_CREDIT, TotalCreditExceeded } from "@tollgate/domain/customer/PaygCredit"
import { UserNotFound } from "@tollgate/domain/customer/User"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import { Effect } from "effect"
import * as Stores from "../../support/Stores.ts"

let operations = 0
const anOperation = () => OperationId.make(`operation ${++operations}`)

const credit = (email: Email, usdMicro: bigint, operationId: OperationId) =>
  Effect.flatMap(PaygAccounts, (accounts) =>
    accounts.credit({ email, amount: UsdMicro(usdMicro), operationId, operator: Stores.operator })
  )

describe("the pay-as-you-go account store", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("creates the account with the first credit", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        expect(yield* credit(user.email, 5n, anOperation())).toEqual({
          userId: user.id,
          amountUsdMicro: 5n,
          balancePico: 5_000_000n,
          alreadyApplied: false
        })
        expect((yield* credit(user.email, 2n, anOperation())).balancePico).toBe(7_000_000n)
        expect((yield* (yield* Users).balances(user)).paygPico).toBe(7_000_000n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("changes no balance for a repeated credit", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        const operationId = anOperation()
        const first = yield* credit(user.email, 5n, operationId)
        expect(yield* credit(user.email, 5n, operationId)).toEqual({ ...first, alreadyApplied: true })
        expect((yield* (yield* Users).balances(user)).paygPico).toBe(5_000_000n)
      })
    )

    it.effect("refuses an operation id that another credit has used", () =>
      Effect.gen(function* () {
        const [user, other] = [yield* Stores.aUser, yield* Stores.aUser]
        const operationId = anOperation()
        yield* credit(user.email, 5n, operationId)
        const conflict = new CreditConflict({ operationId })
        expect(yield* Effect.flip(credit(user.email, 6n, operationId))).toEqual(conflict)
        expect(yield* Effect.flip(credit(other.email, 5n, operationId))).toEqual(conflict)
        expect((yield* (yield* Users).balances(user)).paygPico).toBe(5_000_000n)
        expect((yield* (yield* Users).balances(other)).paygPico).toBe(0n)
      })
    )

    it.effect("refuses a credit beyond the largest sum of credits that an account can store", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        yield* Effect.forEach(Array.from({ length: 9 }, anOperation), (id) => credit(user.email, MAX_CREDIT, id))
        const refused = yield* Effect.flip(credit(user.email, MAX_CREDIT, anOperation()))
        expect(refused).toEqual(new TotalCreditExceeded({ creditableUsdMicro: 223_372_036_854n }))
        const { balancePico } = yield* credit(user.email, 223_372_036_854n, anOperation())
        expect(balancePico).toBe(9_223_372_036_854_000_000n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("credits once for twenty concurrent credits with one operation id", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        const operationId = anOperation()
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, () => credit(user.email, 5n, operationId)),
          { concurrency: "unbounded" }
        )
        expect(outcomes.filter(({ alreadyApplied }) => !alreadyApplied)).toHaveLength(1)
        expect(outcomes.every(({ balancePico }) => balancePico === 5_000_000n)).toBe(true)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("credits one user when concurrent credits share an operation id", () =>
      Effect.gen(function* () {
        const users = yield* Effect.all(Array.from({ length: 8 }, () => Stores.aUser))
        const operationId = anOperation()
        const outcomes = yield* Effect.all(
          users.map((user) => Effect.either(credit(user.email, 5n, operationId))),
          { concurrency: "unbounded" }
        )
        expect(outcomes.filter(({ _tag }) => _tag === "Right")).toHaveLength(1)
        const balances = yield* Effect.forEach(users, (user) =>
          Effect.flatMap(Users, (stored) => stored.balances(user))
        )
        expect(balances.filter(({ paygPico }) => paygPico === 5_000_000n)).toHaveLength(1)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("books forty concurrent credits with different operation ids", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        const outcomes = yield* Effect.all(
          Array.from({ length: 40 }, () => credit(user.email, 1n, anOperation())),
          { concurrency: "unbounded" }
        )
        expect((yield* (yield* Users).balances(user)).paygPico).toBe(40_000_000n)
        expect(new Set(outcomes.map(({ balancePico }) => balancePico)).size).toBe(40)
      })
    )

    it.effect("returns a balance that includes the amounts of open holds", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* Stores.aPayer(9n)
        yield* sql`UPDATE account SET debits_pending = 4000000 WHERE user_id = ${user.id}`
        expect((yield* credit(user.email, 1n, anOperation())).balancePico).toBe(10_000_000n)
        yield* sql`UPDATE account SET debits_pending = 0 WHERE user_id = ${user.id}`
      })
    )

    it.effect("writes one audit log entry per credit", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* Stores.aUser
        const operationId = anOperation()
        yield* credit(user.email, 5n, operationId)
        yield* credit(user.email, 5n, operationId)
        const rows = yield* sql`SELECT actor, reason, detail FROM audit_log
          WHERE action = 'payg.credit' AND detail ->> 'operation_id' = ${operationId}`
        const detail = { user_id: user.id, email: user.email, usd_micro: "5", operation_id: operationId }
        expect(rows).toEqual([{ ...Stores.operator, detail }])
      })
    )

    it.effect("refuses a credit for an unknown email", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        expect(yield* Effect.flip(credit(email, 1n, anOperation()))).toEqual(new UserNotFound({ email }))
      })
    )
  })
})
