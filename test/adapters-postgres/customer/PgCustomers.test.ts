import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Customers } from "@tollgate/application/customer/Customers"
import { Users } from "@tollgate/application/customer/Users"
import { UserNotFound } from "@tollgate/domain/customer/User"
import { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import { Effect } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { aReseller } = Programme
const UNKNOWN_RESELLER = ResellerId.make("0193a5c2-0000-7000-8000-000000000000")

const resolve = (resellerId: ResellerId, email: Email, policy: "closed" | "open" = "closed") =>
  Effect.flatMap(Customers, (customers) => customers.resolve(resellerId, email, policy))
const list = (resellerId: ResellerId) => Effect.flatMap(Customers, (customers) => customers.list(resellerId))

describe("the customer store", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("creates a user and a customer for a new email", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const email = Stores.anEmail()
        const created = yield* resolve(reseller.id, email)
        expect(created).toEqual({ userId: (yield* (yield* Users).find(email)).id, email, created: true })
        expect(yield* resolve(reseller.id, email)).toEqual({ ...created, created: false })
        expect(yield* list(reseller.id)).toEqual([{ userId: created.userId, email }])
        expect(yield* Programme.audited(created.userId)).toEqual([
          {
            actor: `reseller:${reseller.id}`,
            reason: "asked by the reseller",
            action: "customer.link",
            detail: { reseller_id: reseller.id, email }
          }
        ])
      })
    )

    it.effect("finds an existing user without linking the user to the reseller", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const theirs = yield* Programme.aCustomer(other.id)
        const free = yield* Stores.aUser
        for (const { email, userId } of [theirs, { email: free.email, userId: free.id }]) {
          expect(yield* resolve(one.id, email)).toEqual({ userId, email, created: false })
        }
        expect(yield* list(one.id)).toEqual([])
      })
    )

    it.effect("links an existing user when the link policy is open", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId, email } = yield* Programme.aCustomer(other.id)
        expect(yield* resolve(one.id, email, "open")).toEqual({ userId, email, created: false })
        expect(yield* list(one.id)).toEqual([{ userId, email }])
        expect(yield* list(other.id)).toEqual([{ userId, email }])
      })
    )

    it.scoped("creates one customer when two resellers resolve a new email concurrently", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const here = yield* Customers
        const there = yield* Effect.provide(Customers, yield* Programme.anotherNode)
        const resellers = [yield* aReseller(), yield* aReseller()] as const
        for (let round = 0; round < 5; round++) {
          const email = Stores.anEmail()
          const outcomes = yield* Effect.all(
            Array.from({ length: 16 }, (_, i) =>
              (i % 4 < 2 ? here : there).resolve(resellers[i % 2 === 0 ? 0 : 1].id, email, "closed")
            ),
            { concurrency: "unbounded" }
          )
          expect(outcomes.filter(({ created }) => created)).toHaveLength(1)
          expect(new Set(outcomes.map(({ userId }) => userId)).size).toBe(1)
          const winner = resellers[outcomes.findIndex(({ created }) => created) % 2 === 0 ? 0 : 1]
          const links = yield* sql`SELECT reseller_id FROM reseller_customer c JOIN app_user u ON u.id = c.user_id
            WHERE u.email = ${email}`
          expect(links).toEqual([{ reseller_id: winner.id }])
        }
      })
    )

    it.effect("lists customers sorted by email", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const domain = `${reseller.id.slice(-12)}.example`
        for (const name of ["b", "a-2", "a", "a_1", "z"]) yield* resolve(reseller.id, `${name}@${domain}` as Email)
        expect((yield* list(reseller.id)).map(({ email }) => email)).toEqual(
          ["a-2", "a", "a_1", "b", "z"].map((name) => `${name}@${domain}`)
        )
      })
    )

    it.effect("links a user once for eight concurrent links", () =>
      Effect.gen(function* () {
        const customers = yield* Customers
        const reseller = yield* aReseller()
        const { id: userId, email } = yield* Stores.aUser
        const linked = yield* Effect.all(
          Array.from({ length: 8 }, () => customers.link(reseller.id, email, Stores.operator)),
          { concurrency: "unbounded" }
        )
        for (const customer of linked) expect(customer).toEqual({ userId, email })
        expect(yield* list(reseller.id)).toEqual([{ userId, email }])
        expect(yield* Programme.audited(userId)).toEqual([
          expect.objectContaining({ action: "user.create" }),
          { ...Stores.operator, action: "customer.link", detail: { reseller_id: reseller.id, email } }
        ])
      })
    )

    it.effect("refuses a link with an unknown reseller or email", () =>
      Effect.gen(function* () {
        const { link } = yield* Customers
        const reseller = yield* aReseller()
        const email = Stores.anEmail()
        expect(yield* Effect.flip(link(UNKNOWN_RESELLER, email, Stores.operator))).toEqual(
          new ResellerNotFound({ reseller: UNKNOWN_RESELLER })
        )
        expect(yield* Effect.flip(link(reseller.id, email, Stores.operator))).toEqual(new UserNotFound({ email }))
      })
    )
  })
})
