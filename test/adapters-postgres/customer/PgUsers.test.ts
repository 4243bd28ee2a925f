import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Users } from "@tollgate/application/customer/Users"
import { UserExists, UserNotFound } from "@tollgate/domain/customer/User"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect } from "effect"
import * as Stores from "../../support/Stores.ts"

describe("the user store", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("creates one user per email", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const email = Stores.anEmail()
        const created = yield* users.create(email, Stores.operator)
        expect(created).toMatchObject({ email, status: "active" })
        expect(yield* users.find(email)).toEqual(created)
        expect(yield* Effect.flip(users.create(email, Stores.operator))).toEqual(new UserExists({ email }))
      })
    )

    it.effect("accepts only one of three concurrent creations of a user", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const email = Stores.anEmail()
        const create = Effect.either(users.create(email, Stores.operator))
        const outcomes = yield* Effect.all([create, create, create], { concurrency: "unbounded" })
        expect(outcomes.filter(({ _tag }) => _tag === "Right")).toHaveLength(1)
      })
    )

    it.effect("finds users by a part of their email in upper case, also beyond ASCII", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const email = Email.make(`émile-${Stores.anEmail()}`)
        const { id } = yield* users.create(email, Stores.operator)
        const search = email.slice(0, -3).toUpperCase()
        const found = yield* users.list({ search, status: undefined, limit: 10, olderThan: undefined })
        expect(found.map((user) => user.id)).toEqual([id])
      })
    )

    it.effect("finds no user for an unknown email", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        expect(yield* Effect.flip((yield* Users).find(email))).toEqual(new UserNotFound({ email }))
      })
    )

    it.effect("writes the creation of a user to the audit log", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* Stores.aUser
        expect(yield* sql`SELECT actor, action, reason, detail FROM audit_log WHERE subject = ${user.id}`).toEqual([
          { ...Stores.operator, action: "user.create", detail: { email: user.email } }
        ])
      })
    )

    it.effect("returns zero balances for a new user", () =>
      Effect.gen(function* () {
        const user = yield* Stores.aUser
        expect(yield* (yield* Users).balances(user)).toEqual({ paygPico: 0n, plans: [] })
      })
    )

    it.effect("returns credits minus usage as balances", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* Stores.aPayer(3n)
        for (const publicName of ["zeta", "Alpha", "beta"]) {
          const { id } = yield* Stores.aModel(publicName)
          yield* sql`INSERT INTO account (id, kind, unit, user_id, model_id, credits_posted, debits_posted, debits_pending)
            VALUES (gen_random_uuid(), 'plan', 'token', ${user.id}, ${id}, 9007199254740991, 1000, 10)`
        }
        const { paygPico, plans } = yield* (yield* Users).balances(user)
        expect(paygPico).toBe(3_000_000n)
        expect(plans.map(({ model }) => model)).toEqual(["Alpha", "beta", "zeta"])
        expect(plans[0]).toEqual({
          model: "Alpha",
          purchased: 9_007_199_254_740_991n,
          used: 1_000n,
          remaining: 9_007_199_254_739_991n,
          status: "active"
        })
      })
    )
  })
})
