import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { KeyMac } from "@tollgate/adapters-postgres/customer/KeyMac"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { CustomerKeys } from "@tollgate/application/customer/CustomerKeys"
import { ApiKeyId, parse } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { Effect, Either, Redacted } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { aCustomer, aReseller } = Programme
const NO_ID = "0193a5c2-0000-7000-8000-000000000000"
const noKey = new NotFound({ what: "key" })
const noCustomer = new NotFound({ what: "customer" })

const create = (resellerId: ResellerId, userId: UserId, name = "laptop") =>
  Effect.flatMap(CustomerKeys, (keys) => keys.create(resellerId, userId, name))
const revoke = (resellerId: ResellerId, keyId: ApiKeyId) =>
  Effect.flatMap(CustomerKeys, (keys) => keys.revoke(resellerId, keyId))

describe("keys of customers in Postgres", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("a key that a reseller makes for its customer verifies, and is in the audit log without its secret", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const reseller = yield* aReseller()
        const { userId, email } = yield* aCustomer(reseller.id)
        const { key, secret } = yield* create(reseller.id, userId)
        expect(key).toMatchObject({ userId, name: "laptop", revokedAt: undefined })
        const material = Either.getOrThrow(parse("tg", Redacted.value(secret)))
        const [row] = yield* sql<{ secret_mac: Buffer; pepper_version: number }>`
          SELECT secret_mac, pepper_version FROM api_key WHERE id = ${key.id}`
        const { verify } = yield* KeyMac
        expect(verify(material, row && { secretMac: row.secret_mac, pepperVersion: row.pepper_version })).toBe(true)
        expect(yield* Programme.audited(key.id)).toEqual([
          {
            actor: `reseller:${reseller.id}`,
            reason: "asked by the reseller",
            action: "key.create",
            detail: { public_id: key.publicId, user_id: userId, email, name: "laptop" }
          }
        ])
      })
    )

    it.effect("a name that Postgres has no letters for breaks nothing", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        expect((yield* create(reseller.id, userId, "half \ud800")).key.name).toBe("half \ufffd")
      })
    )

    it.effect("there is no key for somebody else's customer, for a stranger, or for nobody", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId } = yield* aCustomer(other.id)
        const stranger = yield* Stores.aUser
        for (const id of [userId, stranger.id, UserId.make(NO_ID)]) {
          expect(yield* Effect.flip(create(one.id, id))).toEqual(noCustomer)
        }
        expect(yield* sql`SELECT FROM api_key WHERE user_id IN (${userId}, ${stranger.id})`).toHaveLength(0)
      })
    )

    it.effect("twenty revocations at once revoke once, and all are told when", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        const { key } = yield* create(reseller.id, userId)
        const [first, ...more] = yield* Effect.all(
          Array.from({ length: 20 }, () => revoke(reseller.id, key.id)),
          { concurrency: "unbounded" }
        )
        expect(first).toEqual({ keyId: key.id, revokedAt: expect.any(Date) })
        for (const again of more) expect(again).toEqual(first)
        expect((yield* Programme.audited(key.id)).map(({ action, actor }) => [action, actor])).toEqual([
          ["key.create", `reseller:${reseller.id}`],
          ["key.revoke", `reseller:${reseller.id}`]
        ])
      })
    )

    it.effect("a key is revoked by its id in capitals too, and goes by its own in the answer and the audit log", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        const { key } = yield* create(reseller.id, userId)
        const inCapitals = ApiKeyId.make(key.id.toUpperCase())
        for (let i = 0; i < 2; i++) expect((yield* revoke(reseller.id, inCapitals)).keyId).toBe(key.id)
        expect((yield* Programme.audited(key.id)).map(({ action }) => action)).toEqual(["key.create", "key.revoke"])
      })
    )

    it.effect("a key is revoked by a reseller of its owner, whoever made it, and by no other", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId, email } = yield* aCustomer(one.id)
        const { key } = yield* (yield* ApiKeys).create(email, "by the house", Stores.operator)
        expect(yield* Effect.flip(revoke(other.id, key.id))).toEqual(noKey)
        expect(yield* Effect.flip(revoke(one.id, ApiKeyId.make(NO_ID)))).toEqual(noKey)
        expect((yield* (yield* ApiKeys).list(email)).map(({ revokedAt }) => revokedAt)).toEqual([undefined])
        yield* revoke(one.id, key.id)
        expect((yield* (yield* ApiKeys).list(email))[0]).toMatchObject({ userId, revokedAt: expect.any(Date) })
      })
    )
  })
})
