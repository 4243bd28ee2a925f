import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { KeyMac } from "@tollgate/adapters-postgres/customer/KeyMac"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { ApiKeyId, ApiKeyNotFound, parse } from "@tollgate/domain/customer/ApiKey"
import { UserNotFound } from "@tollgate/domain/customer/User"
import { Effect, Either, Redacted } from "effect"
import * as Pg from "pg"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const aKey = Effect.gen(function* () {
  const user = yield* Stores.aUser
  const created = yield* (yield* ApiKeys).create(user.email, "laptop", Stores.operator)
  return { user, ...created }
})

/** What LISTEN hears while this runs. */
const heard = <A, E, R>(channel: string, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const client = new Pg.Client((yield* TestDatabase).settings)
    const payloads: Array<string | undefined> = []
    client.on("notification", ({ payload }) => payloads.push(payload))
    yield* Effect.promise(() => client.connect().then(() => client.query(`LISTEN ${channel}`)))
    yield* effect
    // Notifications of earlier commits arrive before the answer to a later statement.
    yield* Effect.promise(() => client.query("SELECT 1").then(() => client.end()))
    return payloads
  })

describe("API keys in Postgres", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("a new key verifies, and any other does not", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret } = yield* aKey
        const material = Either.getOrThrow(parse("tg", Redacted.value(secret)))
        expect(material.publicId).toBe(key.publicId)
        const [row] = yield* sql<{ secret_mac: Buffer; pepper_version: number }>`
          SELECT secret_mac, pepper_version FROM api_key WHERE id = ${key.id}`
        const stored = row && { secretMac: row.secret_mac, pepperVersion: row.pepper_version }
        const { verify } = yield* KeyMac
        expect(verify(material, stored)).toBe(true)
        const other = Either.getOrThrow(parse("tg", Redacted.value((yield* aKey).secret)))
        expect(verify({ ...material, secretPart: other.secretPart }, stored)).toBe(false)
      })
    )

    it.effect("the secret is in no table, whole or in part", () =>
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

    it.effect("keys are listed newest first, revoked ones too", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { user, key: first } = yield* aKey
        const { key: second } = yield* keys.create(user.email, "server", Stores.operator)
        const revoked = yield* keys.revoke(first.id, Stores.operator)
        expect(yield* keys.list(user.email)).toEqual([second, revoked])
      })
    )

    it.effect("revoking again changes nothing and tells the same", () =>
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

    it.effect("a revocation is announced to every node when it commits", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { key } = yield* aKey
        const revoke = keys.revoke(key.id, Stores.operator)
        expect(yield* heard("tollgate_keys", revoke)).toEqual([key.publicId])
      })
    )

    it.effect("there are no keys of nobody, and no unknown key to revoke", () =>
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
