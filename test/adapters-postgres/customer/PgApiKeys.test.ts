import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { KeyMac } from "@tollgate/adapters-postgres/customer/KeyMac"
import { ApiKeys, CustomerKeys } from "@tollgate/application/customer/ApiKeys"
import { ApiKeyId, ApiKeyNotFound, parse } from "@tollgate/domain/customer/ApiKey"
import { UserId, UserNotFound } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { Effect, Either, Redacted } from "effect"
import * as Pg from "pg"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const aKey = Effect.gen(function* () {
  const user = yield* Stores.aUser
  const created = yield* (yield* ApiKeys).create(user.email, "laptop", Stores.operator)
  return { user, ...created }
})

const notificationsDuring = <A, E, R>(channel: string, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const client = new Pg.Client((yield* TestDatabase).settings)
    const payloads: Array<string | undefined> = []
    client.on("notification", ({ payload }) => payloads.push(payload))
    yield* Effect.promise(() => client.connect().then(() => client.query(`LISTEN ${channel}`)))
    yield* effect
    // Notifications of earlier commits arrive before the result of a later statement.
    yield* Effect.promise(() => client.query("SELECT 1").then(() => client.end()))
    return payloads
  })

describe("the API key store", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("stores a MAC that verifies the new key", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret } = yield* aKey
        const material = Either.getOrThrow(parse("tg", Redacted.value(secret)))
        expect(material.publicId).toBe(key.publicId)
        const [row] = yield* sql<{ secret_mac: Buffer }>`
          SELECT secret_mac FROM api_key WHERE id = ${key.id}`
        const { verify } = yield* KeyMac
        expect(verify(material, row?.secret_mac)).toBe(true)
        const other = Either.getOrThrow(parse("tg", Redacted.value((yield* aKey).secret)))
        expect(verify({ ...material, secretPart: other.secretPart }, row?.secret_mac)).toBe(false)
      })
    )

    it.effect("stores neither the secret nor its first 12 characters", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret } = yield* aKey
        const rows = yield* sql<{ everything: string }>`
          SELECT row_to_json(k)::text || encode(k.secret_mac, 'escape') AS everything FROM api_key k WHERE id = ${key.id}
          UNION ALL SELECT row_to_json(l)::text FROM audit_log l WHERE subject = ${key.id}`
        expect(rows).toHaveLength(2)
        const secretPart = Redacted.value(secret).split("_")[2] ?? ""
        for (const { everything } of rows) expect(everything).not.toContain(secretPart.slice(0, 12))
      })
    )

    it.effect("lists keys newest first", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { user, key: first } = yield* aKey
        const { key: second } = yield* keys.create(user.email, "server", Stores.operator)
        const revoked = yield* keys.revoke(first.id, Stores.operator)
        expect(yield* keys.list(user.email)).toEqual([second, revoked])
      })
    )

    it.effect("revokes a key once for four concurrent revocations", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const keys = yield* ApiKeys
        const { key } = yield* aKey
        const [first, ...again] = yield* Effect.all(
          Array.from({ length: 4 }, () => keys.revoke(key.id, Stores.operator)),
          { concurrency: "unbounded" }
        )
        expect(first?.revokedAt).toBeInstanceOf(Date)
        for (const repeat of again) expect(repeat).toEqual(first)
        const log = yield* sql`SELECT actor FROM audit_log WHERE subject = ${key.id} AND action = 'key.revoke'`
        expect(log).toHaveLength(1)
      })
    )

    it.effect("sends one notification for a revoked key", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { key } = yield* aKey
        const revoke = keys.revoke(key.id, Stores.operator)
        expect(yield* notificationsDuring("tollgate_keys", revoke)).toEqual([key.publicId])
      })
    )

    it.effect("fails for an unknown email or key id", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const email = Stores.anEmail()
        const id = ApiKeyId.make("0193a5c2-0000-7000-8000-000000000000")
        expect(yield* Effect.flip(keys.create(email, "k", Stores.operator))).toEqual(new UserNotFound({ email }))
        expect(yield* Effect.flip(keys.list(email))).toEqual(new UserNotFound({ email }))
        expect(yield* Effect.flip(keys.revoke(id, Stores.operator))).toEqual(new ApiKeyNotFound({ keyId: id }))
      })
    )
  })
})

const { aCustomer, aReseller } = Programme
const NO_ID = "0193a5c2-0000-7000-8000-000000000000"
const noKey = new NotFound({ what: "key" })
const noCustomer = new NotFound({ what: "customer" })

const create = (resellerId: ResellerId, userId: UserId, name = "laptop") =>
  Effect.flatMap(CustomerKeys, (keys) => keys.create(resellerId, userId, name))
const revoke = (resellerId: ResellerId, keyId: ApiKeyId) =>
  Effect.flatMap(CustomerKeys, (keys) => keys.revoke(resellerId, keyId))

describe("the customer key store", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("creates a valid key for a reseller's customer", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const reseller = yield* aReseller()
        const { userId, email } = yield* aCustomer(reseller.id)
        const { key, secret } = yield* create(reseller.id, userId)
        expect(key).toMatchObject({ userId, name: "laptop", revokedAt: undefined })
        const material = Either.getOrThrow(parse("tg", Redacted.value(secret)))
        const [row] = yield* sql<{ secret_mac: Buffer }>`
          SELECT secret_mac FROM api_key WHERE id = ${key.id}`
        const { verify } = yield* KeyMac
        expect(verify(material, row?.secret_mac)).toBe(true)
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

    it.effect("replaces characters of a name that Postgres cannot store", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        expect((yield* create(reseller.id, userId, "half \ud800")).key.name).toBe("half \ufffd")
      })
    )

    it.effect("creates no key for another reseller's customer", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId } = yield* aCustomer(other.id)
        const unlinked = yield* Stores.aUser
        for (const id of [userId, unlinked.id, UserId.make(NO_ID)]) {
          expect(yield* Effect.flip(create(one.id, id))).toEqual(noCustomer)
        }
        expect(yield* sql`SELECT FROM api_key WHERE user_id IN (${userId}, ${unlinked.id})`).toHaveLength(0)
      })
    )

    it.effect("revokes a key once for twenty concurrent revocations", () =>
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

    it.effect("revokes a key by its id in capital letters", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const { userId } = yield* aCustomer(reseller.id)
        const { key } = yield* create(reseller.id, userId)
        const inCapitals = ApiKeyId.make(key.id.toUpperCase())
        for (let i = 0; i < 2; i++) expect((yield* revoke(reseller.id, inCapitals)).keyId).toBe(key.id)
        expect((yield* Programme.audited(key.id)).map(({ action }) => action)).toEqual(["key.create", "key.revoke"])
      })
    )

    it.effect("revokes a key only for a reseller of its owner", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const { userId, email } = yield* aCustomer(one.id)
        const { key } = yield* (yield* ApiKeys).create(email, "by an operator", Stores.operator)
        expect(yield* Effect.flip(revoke(other.id, key.id))).toEqual(noKey)
        expect(yield* Effect.flip(revoke(one.id, ApiKeyId.make(NO_ID)))).toEqual(noKey)
        expect((yield* (yield* ApiKeys).list(email)).map(({ revokedAt }) => revokedAt)).toEqual([undefined])
        yield* revoke(one.id, key.id)
        expect((yield* (yield* ApiKeys).list(email))[0]).toMatchObject({ userId, revokedAt: expect.any(Date) })
      })
    )
  })
})
