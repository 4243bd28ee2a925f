import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { KEYS_CHANNEL } from "@tollgate/adapters-postgres/client/PgNotifications"
import { KeyMac } from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyUses } from "@tollgate/application/customer/KeyLists"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { generateKey, render } from "@tollgate/domain/customer/ApiKey"
import { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { Context, Effect, Either, Fiber, Layer, Redacted, Schedule } from "effect"
import * as Pg from "pg"
import * as Stores from "../../support/Stores.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import { lockWaits } from "../ledger/Customers.ts"

const HOUR = 3_600_000
const unknown = new InvalidApiKey({ reason: "unknown" })
const overloaded = new Overloaded({ retryAfterSeconds: 1 })

/** Lifetimes that are longer than any test, so that no entry expires. */
const longLived = { ttlMillis: HOUR, ttlWithoutNotificationsMillis: HOUR, unknownKeyTtlMillis: HOUR }

/**
 * Starts an authenticator behind a cable (a proxy to the database), and counts its lookups. A test creates its keys
 * first, because the notification of a new key can prevent the caching of a row.
 */
const anAuthenticator = (
  options: Partial<PgApiKeyAuthenticator.KeyCacheOptions> = {},
  overrides: Partial<PgNotifications.PgNotifications["Type"]> = {}
) =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.TestDatabase
    const cable = yield* Cable.scoped(database.settings)
    const mac = yield* KeyMac
    let lookups = 0
    const counting: KeyMac["Type"] = {
      ...mac,
      verify: (key, stored) => {
        lookups++
        return mac.verify(key, stored)
      }
    }
    // A probe that a busy machine delays would count as a lost connection and clear the cache.
    const wire = yield* Layer.build(
      PgNotifications.layer({ probeMillis: 2_000, retryMillis: 20 }).pipe(
        Layer.provideMerge(TestDatabase.clientLayer({ ...database, settings: cable.settings }))
      )
    )
    const notifications = Context.get(wire, PgNotifications.PgNotifications)
    yield* until(notifications.listening)
    const built = yield* Layer.build(PgApiKeyAuthenticator.layer({ ...longLived, ...options })).pipe(
      Effect.provide(Context.add(wire, PgNotifications.PgNotifications, { ...notifications, ...overrides })),
      Effect.provideService(KeyMac, counting)
    )
    return {
      cable,
      notifications,
      authenticate: Context.get(built, ApiKeyAuthenticator).authenticate,
      record: Context.get(built, KeyUses).record,
      lookups: () => lookups
    }
  })

const aKey = Effect.gen(function* () {
  const user = yield* Stores.aUser
  const { key, secret } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
  return { key, secret, principal: { keyId: key.id, userId: user.id } }
})

const until = (holds: () => boolean) =>
  Effect.repeat(Effect.delay(Effect.sync(holds), "5 millis"), { until: (yes) => yes }).pipe(
    Effect.timeout("60 seconds")
  )

/** Retries the effect for some seconds until it succeeds, because a notification or a new connection takes time. */
const soon = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, { schedule: Schedule.spaced("10 millis"), times: 500 })

const inAnotherSession = (statement: string) =>
  Effect.flatMap(TestDatabase.TestDatabase, ({ settings }) =>
    Effect.promise(async () => {
      const client = new Pg.Client(settings)
      await client.connect()
      await client.query(statement).finally(() => client.end())
    })
  )

const whileKeysAreLocked = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(Effect.zipRight(sql`LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE`, effect))
  )

describe("the API key authenticator", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("finds the owner of a key with one lookup", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups } = yield* anAuthenticator()
        const principals = yield* Effect.all(
          Array.from({ length: 50 }, () => authenticate(secret)),
          { concurrency: "unbounded" }
        )
        expect(principals).toEqual(principals.map(() => principal))
        expect(Effect.runSync(authenticate(secret))).toEqual(principal)
        expect(lookups()).toBe(1)
      })
    )

    it.scoped("stores the time of the last lookup of a key", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const uses = Effect.map(
          sql<{ key_id: string; used_at: Date }>`SELECT key_id, used_at FROM api_key_use`,
          (rows) => new Map(rows.map(({ key_id, used_at }) => [key_id, used_at.getTime()]))
        )
        const [used, revoked] = [yield* aKey, yield* aKey]
        yield* (yield* ApiKeys).revoke(revoked.key.id, Stores.operator)
        const [one, other] = [yield* anAuthenticator(), yield* anAuthenticator()]
        for (const { authenticate } of [one, other]) yield* authenticate(used.secret)
        yield* Effect.flip(one.authenticate(revoked.secret))
        yield* Effect.all([other.record, one.record], { concurrency: "unbounded" })
        const first = (yield* uses).get(used.key.id) ?? 0
        expect(Math.abs(Date.now() - first)).toBeLessThan(60_000)
        expect((yield* uses).has(revoked.key.id)).toBe(false)

        yield* one.authenticate(used.secret)
        yield* one.record
        expect((yield* uses).get(used.key.id)).toBe(first)
        const later = yield* anAuthenticator()
        yield* later.authenticate(used.secret)
        yield* later.record
        expect((yield* uses).get(used.key.id)).toBeGreaterThan(first)
      })
    )

    it.scoped("completes a shared lookup when its first request is interrupted", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups } = yield* anAuthenticator()
        const second = yield* whileKeysAreLocked(
          Effect.gen(function* () {
            const first = yield* Effect.fork(authenticate(secret))
            yield* Effect.repeat(lockWaits, { until: (count) => count === 1n })
            const second = yield* Effect.fork(authenticate(secret))
            yield* Fiber.interrupt(first)
            return second
          })
        )
        expect(yield* Fiber.join(second)).toEqual(principal)
        expect(lookups()).toBe(1)
      })
    )

    it.scoped("refuses unknown and malformed keys", () =>
      Effect.gen(function* () {
        const { authenticate, lookups } = yield* anAuthenticator()
        const unknownKey = render("tg", generateKey("tg", randomBytes(44)))
        expect(yield* Effect.flip(authenticate(unknownKey))).toEqual(unknown)
        expect(yield* Effect.flip(authenticate(unknownKey))).toEqual(unknown)
        const text = Redacted.value(unknownKey)
        for (const malformed of ["", "tg_", text.slice(0, -1), `x${text}`, "tg_".repeat(400)]) {
          expect(yield* Effect.flip(authenticate(Redacted.make(malformed)))).toEqual(unknown)
        }
        // The second attempt uses the cache, and malformed keys need no lookup.
        expect(lookups()).toBe(1)
      })
    )

    it.scoped("refuses a wrong secret with a known public id", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key } = yield* aKey
        const other = generateKey("tg", randomBytes(44))
        yield* sql`UPDATE api_key SET public_id = ${other.publicId} WHERE id = ${key.id}`
        const { authenticate } = yield* anAuthenticator()
        expect(yield* Effect.flip(authenticate(render("tg", other)))).toEqual(unknown)
      })
    )

    it.scoped("refuses the key of a blocked user", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { secret, principal } = yield* aKey
        yield* sql`UPDATE app_user SET status = 'blocked' WHERE id = ${principal.userId}`
        const { authenticate } = yield* anAuthenticator()
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
      })
    )

    it.scoped("removes a revoked key from the caches of two nodes", () =>
      Effect.gen(function* () {
        const [revoked, other] = yield* Effect.all([aKey, aKey])
        const authenticators = yield* Effect.all([anAuthenticator(), anAuthenticator()])
        for (const { authenticate } of authenticators) {
          yield* Effect.all([authenticate(revoked.secret), authenticate(other.secret)])
        }
        yield* (yield* ApiKeys).revoke(revoked.key.id, Stores.operator)
        for (const { authenticate, lookups } of authenticators) {
          expect(yield* soon(Effect.flip(authenticate(revoked.secret)))).toEqual(unknown)
          expect(Effect.runSync(authenticate(other.secret))).toEqual(other.principal)
          expect(lookups()).toBe(3)
        }
      })
    )

    it.scoped("looks up an unknown key again after its notification", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret, principal } = yield* aKey
        const { authenticate } = yield* anAuthenticator()
        yield* sql`UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = ${key.id}`
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
        yield* sql`UPDATE api_key SET revoked_at = NULL WHERE id = ${key.id}`
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
        yield* inAnotherSession(`NOTIFY ${KEYS_CHANNEL}, '${key.publicId}'`)
        expect(yield* soon(authenticate(secret))).toEqual(principal)
      })
    )

    it.scoped("caches no row if a notification arrives during the read", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups, notifications } = yield* anAuthenticator()
        let received = false
        const notified = () => {
          received = true
        }
        yield* notifications.subscribe(KEYS_CHANNEL, { notified, missed: () => {} })
        const request = yield* whileKeysAreLocked(
          Effect.gen(function* () {
            const request = yield* Effect.fork(authenticate(secret))
            yield* Effect.repeat(lockWaits, { until: (count) => count === 1n })
            yield* inAnotherSession(`NOTIFY ${KEYS_CHANNEL}, 'another'`)
            yield* until(() => received)
            return request
          })
        )
        expect(yield* Fiber.join(request)).toEqual(principal)
        yield* Effect.all([authenticate(secret), authenticate(secret)])
        expect(lookups()).toBe(2)
      })
    )

    it.scoped("clears the cache when the connection is lost", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, cable, notifications } = yield* anAuthenticator()
        yield* authenticate(secret)
        cable.cut()
        yield* until(() => !notifications.listening())
        expect(yield* Effect.flip(authenticate(secret))).toEqual(overloaded)
        cable.mend()
        expect(yield* soon(authenticate(secret))).toEqual(principal)
      })
    )

    it.scoped("caches a key for a shorter time without notifications", () =>
      Effect.gen(function* () {
        const { secret } = yield* aKey
        const withoutNotifications = yield* anAuthenticator(
          { ttlWithoutNotificationsMillis: 0 },
          { listening: () => false }
        )
        const withNotifications = yield* anAuthenticator({ ttlWithoutNotificationsMillis: 0 })
        for (const { authenticate } of [
          withoutNotifications,
          withoutNotifications,
          withNotifications,
          withNotifications
        ])
          yield* authenticate(secret)
        expect([withoutNotifications.lookups(), withNotifications.lookups()]).toEqual([2, 1])
      })
    )

    it.scoped("counts a cached key's lifetime from the start of its lookup", () =>
      Effect.gen(function* () {
        const { secret } = yield* aKey
        const { authenticate, lookups } = yield* anAuthenticator({ ttlMillis: 400 })
        const request = yield* whileKeysAreLocked(Effect.zipLeft(Effect.fork(authenticate(secret)), Effect.sleep(500)))
        yield* Fiber.join(request)
        yield* authenticate(secret)
        expect(lookups()).toBe(2)
      })
    )

    it.scoped("reports overload when a lookup times out", () =>
      Effect.gen(function* () {
        const { secret } = yield* aKey
        const { authenticate, cable } = yield* anAuthenticator({ lookupTimeoutMillis: 100 })
        cable.freeze()
        expect(yield* Effect.timeout(Effect.flip(authenticate(secret)), "2 seconds")).toEqual(overloaded)
        cable.mend()
      })
    )

    it.scoped("limits the number of concurrent lookups", () =>
      Effect.gen(function* () {
        const keys = yield* Effect.all([aKey, aKey])
        const late = yield* aKey
        const { authenticate } = yield* anAuthenticator({ maxConcurrentLookups: 2 })
        const waiting = yield* whileKeysAreLocked(
          Effect.gen(function* () {
            const waiting = yield* Effect.all(
              keys.map(({ secret }) => Effect.fork(Effect.either(authenticate(secret))))
            )
            yield* Effect.repeat(lockWaits, { until: (count) => count === 2n })
            expect(yield* Effect.flip(authenticate(late.secret))).toEqual(overloaded)
            return waiting
          })
        )
        expect((yield* Effect.all(waiting.map(Fiber.join))).every(Either.isRight)).toBe(true)
      })
    )
  })
})
