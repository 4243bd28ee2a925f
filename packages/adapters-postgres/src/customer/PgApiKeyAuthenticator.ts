/**
 * Whose key this is, remembered for a moment so that a request does not wait for the database to say it again.
 *
 * What is remembered is the digest of a key, never the key. Notifications end an entry at once, a lost connection ends
 * all of them, and time ends the rest: half a minute while notifications arrive, a second while they do not.
 * Strangers are remembered too, more briefly and in a small place of their own, so that they displace nobody.
 */
import { hash } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { ApiKeyAuthenticator, type Principal } from "@tollgate/application/inference/ApiKeyAuthenticator"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import { type ApiKeyId, type KeyMaterial, MAX_LENGTH, parse } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ExpiringMap } from "../client/ExpiringMap.ts"
import { KEYS_CHANNEL, PgNotifications } from "../client/PgNotifications.ts"
import { KeyMac } from "./KeyMac.ts"

export interface KeyRingOptions {
  readonly capacity: number
  readonly listeningMillis: number
  /** How long a key is remembered while nobody could say that it was revoked. */
  readonly deafMillis: number
  readonly strangers: number
  readonly strangerMillis: number
  /** Keys being looked up at a time; more of them are refused. */
  readonly lookups: number
  readonly lookupMillis: number
}

export const defaults: KeyRingOptions = {
  capacity: 10_000,
  listeningMillis: 30_000,
  deafMillis: 1_000,
  strangers: 1_000,
  strangerMillis: 2_000,
  lookups: 256,
  lookupMillis: 3_000
}

type Known = Either.Either<Principal, InvalidApiKey>

interface Remembered {
  readonly publicId: string
  readonly known: Known
}

interface KeyRow {
  readonly id: string
  readonly user_id: string
  readonly secret_mac: Uint8Array
  readonly pepper_version: number
}

const UNKNOWN: Known = Either.left(new InvalidApiKey({ reason: "unknown" }))
const OVERLOADED = Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))

export const make = (options: KeyRingOptions = defaults) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keyMac = yield* KeyMac
    const notifications = yield* PgNotifications
    const keys = new ExpiringMap<string, Remembered>(options.capacity)
    const strangers = new ExpiringMap<string, Remembered>(options.strangers)
    const lookups = yield* SingleFlight.make<string, Principal, InvalidApiKey | Overloaded>(options.lookups)
    let news = 0

    yield* notifications.subscribe(KEYS_CHANNEL, {
      notified: (publicId) => {
        news++
        for (const known of [keys, strangers]) known.forget((key) => key.publicId === publicId)
      },
      missed: () => {
        news++
        for (const known of [keys, strangers]) known.clear()
      }
    })

    const find = (digest: string, key: KeyMaterial) =>
      Effect.gen(function* () {
        const newsBefore = news
        const [row] = yield* sql<KeyRow>`
          SELECT k.id, k.user_id, k.secret_mac, k.pepper_version FROM api_key k JOIN app_user u ON u.id = k.user_id
          WHERE k.public_id = ${key.publicId} AND k.revoked_at IS NULL AND u.status = 'active'`
        const genuine = keyMac.verify(key, row && { secretMac: row.secret_mac, pepperVersion: row.pepper_version })
        const known: Known =
          row !== undefined && genuine
            ? Either.right({ keyId: row.id as ApiKeyId, userId: row.user_id as UserId })
            : UNKNOWN
        // What was read before a notification may be what it was about.
        if (news === newsBefore) (genuine ? keys : strangers).set(digest, { publicId: key.publicId, known })
        return yield* known
      }).pipe(
        Effect.disconnect,
        Effect.timeoutFail({
          duration: options.lookupMillis,
          onTimeout: () => new Overloaded({ retryAfterSeconds: 1 })
        }),
        Effect.catchTag("SqlError", (error) =>
          Effect.zipRight(Effect.logDebug("a key was not looked up", error), OVERLOADED)
        )
      )

    const digestOf = (presented: Redacted.Redacted<string>) => hash("sha256", Redacted.value(presented), "base64")

    const remembered = (digest: string): Known | undefined =>
      (
        keys.get(digest, notifications.listening() ? options.listeningMillis : options.deafMillis) ??
        strangers.get(digest, options.strangerMillis)
      )?.known

    return ApiKeyAuthenticator.of({
      recall: (presented) =>
        Redacted.value(presented).length > MAX_LENGTH ? UNKNOWN : remembered(digestOf(presented)),
      authenticate: (presented) =>
        Effect.suspend(() => {
          const text = Redacted.value(presented)
          if (text.length > MAX_LENGTH) return UNKNOWN
          const digest = digestOf(presented)
          const known = remembered(digest)
          if (known !== undefined) return known
          const key = parse(keyMac.prefix, text)
          return Either.isLeft(key) ? UNKNOWN : lookups.run(digest, () => find(digest, key.right), OVERLOADED)
        })
    })
  })

export const layer = (
  options: Partial<KeyRingOptions> = {}
): Layer.Layer<ApiKeyAuthenticator, never, SqlClient.SqlClient | KeyMac | PgNotifications> =>
  Layer.scoped(ApiKeyAuthenticator, make({ ...defaults, ...options }))
