import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { KEYS_CHANNEL } from "@tollgate/adapters-postgres/client/PgNotifications"
import { KeyMac } from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { mint, render } from "@tollgate/domain/customer/ApiKey"
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

/** Remembers for so long that only a notification can explain that something was forgotten. */
const faithful = { ttlMillis: HOUR, ttlWithoutNotificationsMillis: HOUR, unknownKeyTtlMillis: HOUR }

/**
 * The key ring of a node at the end of a cable; counts how often it asked the database. Make keys first: the news of a
 * new key keeps a ring from remembering what it reads at that moment.
 */
const aRing = (
  options: Partial<PgApiKeyAuthenticator.KeyCacheOptions> = {},
  hearing: Partial<PgNotifications.PgNotifications["Type"]> = {}
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
    const wire = yield* Layer.build(
      PgNotifications.layer({ probeMillis: 50, retryMillis: 20 }).pipe(
        Layer.provideMerge(TestDatabase.clientLayer({ ...database, settings: cable.settings }))
      )
    )
    const notifications = Context.get(wire, PgNotifications.PgNotifications)
    yield* until(notifications.listening)
    const ring = yield* Layer.build(PgApiKeyAuthenticator.layer({ ...faithful, ...options })).pipe(
      Effect.provide(Context.add(wire, PgNotifications.PgNotifications, { ...notifications, ...hearing })),
      Effect.provideService(KeyMac, counting)
    )
    return {
      cable,
      notifications,
      authenticate: Context.get(ring, ApiKeyAuthenticator).authenticate,
      lookups: () => lookups
    }
  })

const aKey = Effect.gen(function* () {
  const user = yield* Stores.aUser
  const { key, secret } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
  return { key, secret, principal: { keyId: key.id, userId: user.id } }
})

const until = (holds: () => boolean) =>
  Effect.repeat(Effect.delay(Effect.sync(holds), "5 millis"), { until: (yes) => yes }).pipe(Effect.timeout("5 seconds"))

/** Again and again, while a notification or a connection is on its way. */
const soon = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, { schedule: Schedule.spaced("10 millis"), times: 500 })

const elsewhere = (statement: string) =>
  Effect.flatMap(TestDatabase.TestDatabase, ({ settings }) =>
    Effect.promise(async () => {
      const client = new Pg.Client(settings)
      await client.connect()
      await client.query(statement).finally(() => client.end())
    })
  )

/** What happens while nobody can read a key. */
const whileKeysAreLocked = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(Effect.zipRight(sql`LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE`, effect))
  )

describe("the key ring in Postgres", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("knows whose key it is, asks once, and then answers without waiting", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups } = yield* aRing()
        const answers = yield* Effect.all(
          Array.from({ length: 50 }, () => authenticate(secret)),
          { concurrency: "unbounded" }
        )
        expect(answers).toEqual(answers.map(() => principal))
        expect(Effect.runSync(authenticate(secret))).toEqual(principal)
        expect(lookups()).toBe(1)
      })
    )

    it.scoped("looks a key up for the others though the first who asked has left", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups } = yield* aRing()
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

    it.scoped("does not know a key of nobody, nor something that is no key", () =>
      Effect.gen(function* () {
        const { authenticate, lookups } = yield* aRing()
        const stranger = render("tg", mint("tg", randomBytes(44)))
        expect(yield* Effect.flip(authenticate(stranger))).toEqual(unknown)
        expect(yield* Effect.flip(authenticate(stranger))).toEqual(unknown)
        const text = Redacted.value(stranger)
        for (const malformed of ["", "tg_", text.slice(0, -1), `x${text}`, "tg_".repeat(400)]) {
          expect(yield* Effect.flip(authenticate(Redacted.make(malformed)))).toEqual(unknown)
        }
        // Who is unknown is compared with something too, and remembered.
        expect(lookups()).toBe(1)
      })
    )

    it.scoped("does not take another secret for a known public id", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key } = yield* aKey
        const other = mint("tg", randomBytes(44))
        yield* sql`UPDATE api_key SET public_id = ${other.publicId} WHERE id = ${key.id}`
        const { authenticate } = yield* aRing()
        expect(yield* Effect.flip(authenticate(render("tg", other)))).toEqual(unknown)
      })
    )

    it.scoped("does not know the key of a blocked user", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { secret, principal } = yield* aKey
        yield* sql`UPDATE app_user SET status = 'blocked' WHERE id = ${principal.userId}`
        const { authenticate } = yield* aRing()
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
      })
    )

    it.scoped("forgets a key on every node when it is revoked on one", () =>
      Effect.gen(function* () {
        const [revoked, other] = yield* Effect.all([aKey, aKey])
        const rings = yield* Effect.all([aRing(), aRing()])
        for (const { authenticate } of rings) {
          yield* Effect.all([authenticate(revoked.secret), authenticate(other.secret)])
        }
        yield* (yield* ApiKeys).revoke(revoked.key.id, Stores.operator)
        for (const { authenticate, lookups } of rings) {
          expect(yield* soon(Effect.flip(authenticate(revoked.secret)))).toEqual(unknown)
          expect(Effect.runSync(authenticate(other.secret))).toEqual(other.principal)
          expect(lookups()).toBe(3)
        }
      })
    )

    it.scoped("forgets a stranger when there is news of such a key", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret, principal } = yield* aKey
        const { authenticate } = yield* aRing()
        yield* sql`UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = ${key.id}`
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
        yield* sql`UPDATE api_key SET revoked_at = NULL WHERE id = ${key.id}`
        expect(yield* Effect.flip(authenticate(secret))).toEqual(unknown)
        yield* elsewhere(`NOTIFY ${KEYS_CHANNEL}, '${key.publicId}'`)
        expect(yield* soon(authenticate(secret))).toEqual(principal)
      })
    )

    it.scoped("remembers nothing that it read before it heard of a change", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, lookups, notifications } = yield* aRing()
        let heard = false
        const notified = () => {
          heard = true
        }
        yield* notifications.subscribe(KEYS_CHANNEL, { notified, missed: () => {} })
        const asked = yield* whileKeysAreLocked(
          Effect.gen(function* () {
            const asked = yield* Effect.fork(authenticate(secret))
            yield* Effect.repeat(lockWaits, { until: (count) => count === 1n })
            yield* elsewhere(`NOTIFY ${KEYS_CHANNEL}, 'somebody'`)
            yield* until(() => heard)
            return asked
          })
        )
        expect(yield* Fiber.join(asked)).toEqual(principal)
        yield* Effect.all([authenticate(secret), authenticate(secret)])
        expect(lookups()).toBe(2)
      })
    )

    it.scoped("with its connection forgets everything, and then is overloaded rather than ignorant", () =>
      Effect.gen(function* () {
        const { secret, principal } = yield* aKey
        const { authenticate, cable, notifications } = yield* aRing()
        yield* authenticate(secret)
        cable.cut()
        yield* until(() => !notifications.listening())
        expect(yield* Effect.flip(authenticate(secret))).toEqual(overloaded)
        cable.mend()
        expect(yield* soon(authenticate(secret))).toEqual(principal)
      })
    )

    it.scoped("remembers only for a moment while it cannot hear", () =>
      Effect.gen(function* () {
        const { secret } = yield* aKey
        const deaf = yield* aRing({ ttlWithoutNotificationsMillis: 0 }, { listening: () => false })
        const hearing = yield* aRing({ ttlWithoutNotificationsMillis: 0 })
        for (const { authenticate } of [deaf, deaf, hearing, hearing]) yield* authenticate(secret)
        expect([deaf.lookups(), hearing.lookups()]).toEqual([2, 1])
      })
    )

    it.scoped("does not wait for ever for a database that hangs", () =>
      Effect.gen(function* () {
        const { secret } = yield* aKey
        const { authenticate, cable } = yield* aRing({ lookupTimeoutMillis: 100 })
        cable.freeze()
        expect(yield* Effect.timeout(Effect.flip(authenticate(secret)), "2 seconds")).toEqual(overloaded)
        cable.mend()
      })
    )

    it.scoped("looks up only so many at a time", () =>
      Effect.gen(function* () {
        const keys = yield* Effect.all([aKey, aKey])
        const late = yield* aKey
        const { authenticate } = yield* aRing({ maxConcurrentLookups: 2 })
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
