/**
 * Authenticates API keys, with a cache so that most requests do not wait for the database. The cache also contains
 * the expiry and the allowed models of each key. Every node is notified when a key is revoked, and when the limits of a
 * key change.
 *
 * A cache entry is found by the digest of its API key, so the cache does not contain the key itself. A Postgres
 * notification about a key removes the entries of that key, and a loss of the notification connection removes all
 * entries. The entry of a valid key expires after 30 seconds while the notification connection is open, and after one
 * second while it is lost. Refused keys (unknown, revoked, expired, or of a user who is not active) are cached for two
 * seconds in a separate small cache, so that they cannot displace valid keys.
 */
import { hash } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { KeyUses } from "@tollgate/application/customer/KeyLists"
import { KeyRewrites } from "@tollgate/application/customer/KeyPeppers"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import { type ApiKeyId, type KeyMaterial, MAX_LENGTH, type Principal, parse } from "@tollgate/domain/customer/ApiKey"
import { hasExpired, localLimits } from "@tollgate/domain/customer/KeyLimits"
import type { UserId } from "@tollgate/domain/customer/User"
import { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ExpiringMap } from "../client/ExpiringMap.ts"
import { KEYS_CHANNEL, PgNotifications } from "../client/PgNotifications.ts"
import { KeyMac } from "./KeyMac.ts"
import * as PgKeyPeppers from "./PgKeyPeppers.ts"
import * as SeenKeys from "./SeenKeys.ts"

export interface KeyCacheOptions {
  readonly capacity: number
  /** Lifetime of the entry of a valid key while the notification connection is open. */
  readonly ttlMillis: number
  /**
   * Lifetime of the entry of a valid key while the notification connection is lost. The lifetime is short, because no
   * notification of a revocation arrives then.
   */
  readonly ttlWithoutNotificationsMillis: number
  readonly unknownKeysCapacity: number
  readonly unknownKeyTtlMillis: number
  /** Maximum number of keys that are looked up concurrently. Further lookups are refused. */
  readonly maxConcurrentLookups: number
  readonly lookupTimeoutMillis: number
}

export const defaults: KeyCacheOptions = {
  capacity: 10_000,
  ttlMillis: 30_000,
  ttlWithoutNotificationsMillis: 1_000,
  unknownKeysCapacity: 1_000,
  unknownKeyTtlMillis: 2_000,
  maxConcurrentLookups: 256,
  lookupTimeoutMillis: 3_000
}

type Authentication = Either.Either<Principal, InvalidApiKey>

interface CacheEntry {
  readonly publicId: string
  readonly result: Authentication
}

interface KeyRow {
  readonly id: string
  readonly user_id: string
  readonly secret_mac: Uint8Array
  readonly pepper_name: string | null
  readonly counted: boolean
  readonly expires_at: Date | null
  readonly models: ReadonlyArray<string> | null
  readonly read_at: Date
}

const UNKNOWN: Authentication = Either.left(new InvalidApiKey({ reason: "unknown" }))
const OVERLOADED = Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))

export const make = (options: KeyCacheOptions = defaults) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keyMac = yield* KeyMac
    const notifications = yield* PgNotifications
    const seen = yield* SeenKeys.make
    const rewrites = yield* PgKeyPeppers.make
    const clock = yield* Effect.clock
    const keys = new ExpiringMap<string, CacheEntry>(options.capacity)
    const unknownKeys = new ExpiringMap<string, CacheEntry>(options.unknownKeysCapacity)
    const lookups = yield* SingleFlight.make<string, Principal, InvalidApiKey | Overloaded>(
      options.maxConcurrentLookups
    )
    let notificationCount = 0

    yield* notifications.subscribe(KEYS_CHANNEL, {
      notified: (publicId) => {
        notificationCount++
        for (const cache of [keys, unknownKeys]) cache.forget((key) => key.publicId === publicId)
      },
      missed: () => {
        notificationCount++
        for (const cache of [keys, unknownKeys]) cache.clear()
      }
    })

    const find = (digest: string, key: KeyMaterial) =>
      Effect.gen(function* () {
        const countBefore = notificationCount
        // A revocation can be missing from a row that was read slowly, so the age of an entry includes the read.
        const begunAtMillis = performance.now()
        const [row] = yield* sql<KeyRow>`
          SELECT k.id, k.user_id, k.secret_mac, k.pepper_name, k.counted, k.expires_at, k.models,
            statement_timestamp() AS read_at
          FROM api_key k JOIN app_user u ON u.id = k.user_id
          WHERE k.public_id = ${key.publicId} AND k.revoked_at IS NULL AND u.status = 'active'
            AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())`
        const genuine = keyMac.verify(key, row?.secret_mac)
        const result: Authentication = row !== undefined && genuine ? Either.right(principalOf(row)) : UNKNOWN
        if (row !== undefined && genuine) {
          seen.add(row.id as ApiKeyId, row.read_at)
          rewrites.add(row.id as ApiKeyId, key, row.secret_mac, row.pepper_name)
        }
        // If a notification arrived during the read, the row may be outdated, so it is not cached.
        if (notificationCount === countBefore)
          (genuine ? keys : unknownKeys).set(digest, { publicId: key.publicId, result }, begunAtMillis)
        return yield* result
      }).pipe(
        Effect.disconnect,
        Effect.timeoutFail({
          duration: options.lookupTimeoutMillis,
          onTimeout: () => new Overloaded({ retryAfterSeconds: 1 })
        }),
        Effect.catchTag("SqlError", (error) =>
          Effect.zipRight(Effect.logDebug("an API key could not be looked up in the database", error), OVERLOADED)
        )
      )

    // Consecutive requests of one connection present the same `Redacted`, so its digest is computed only once.
    const digests = new WeakMap<Redacted.Redacted<string>, string>()
    const digestOf = (presented: Redacted.Redacted<string>): string => {
      const known = digests.get(presented)
      if (known !== undefined) return known
      const digest = hash("sha256", Redacted.value(presented), "base64")
      digests.set(presented, digest)
      return digest
    }

    const cached = (digest: string): Authentication | undefined => {
      const ttlMillis = notifications.listening() ? options.ttlMillis : options.ttlWithoutNotificationsMillis
      const result = (keys.get(digest, ttlMillis) ?? unknownKeys.get(digest, options.unknownKeyTtlMillis))?.result
      return result?._tag === "Right" && hasExpired(result.right.limits, clock.unsafeCurrentTimeMillis())
        ? UNKNOWN
        : result
    }

    const authenticator = ApiKeyAuthenticator.of({
      recall: (presented) => (Redacted.value(presented).length > MAX_LENGTH ? UNKNOWN : cached(digestOf(presented))),
      authenticate: (presented) =>
        Effect.suspend(() => {
          const text = Redacted.value(presented)
          if (text.length > MAX_LENGTH) return UNKNOWN
          const digest = digestOf(presented)
          const result = cached(digest)
          if (result !== undefined) return result
          const key = parse(keyMac.prefix, text)
          return Either.isLeft(key) ? UNKNOWN : lookups.run(digest, () => find(digest, key.right), OVERLOADED)
        })
    })
    return Context.make(ApiKeyAuthenticator, authenticator).pipe(
      Context.add(KeyUses, { record: seen.record }),
      Context.add(KeyRewrites, { rewrite: rewrites.rewrite })
    )
  })

const principalOf = (row: KeyRow): Principal => {
  const limits = localLimits(row.counted, row.expires_at ?? undefined, row.models ?? undefined)
  const ids = { keyId: row.id as ApiKeyId, userId: row.user_id as UserId }
  return limits === undefined ? ids : { ...ids, limits }
}

/**
 * Provides the authenticator, its record of used keys, and the rewrites of keys that are not stored under the current
 * pepper.
 */
export const layer = (
  options: Partial<KeyCacheOptions> = {}
): Layer.Layer<ApiKeyAuthenticator | KeyUses | KeyRewrites, never, SqlClient.SqlClient | KeyMac | PgNotifications> =>
  Layer.scopedContext(make({ ...defaults, ...options }))
