/**
 * Stores used API keys under the current pepper, and counts the API keys and the webhook endpoints by pepper.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { KeyPeppers, type KeyRewrites } from "@tollgate/application/customer/KeyPeppers"
import type { ApiKeyId, KeyMaterial } from "@tollgate/domain/customer/ApiKey"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { arrayOf } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { KeyMac } from "./KeyMac.ts"

/** Maximum number of keys that wait to be rewritten. Further keys are rewritten after a later use. */
const MAX_WAITING_KEYS = 10_000
/** Maximum number of keys in one statement, so that it locks few rows for a short time. */
const BATCH_SIZE = 500

interface Rewrite {
  readonly storedMac: Uint8Array
  readonly secretMac: Uint8Array
}

export interface WaitingRewrites extends Context.Tag.Service<KeyRewrites> {
  /**
   * Records a verified key, unless it is stored under the current pepper or too many keys wait. `pepperName` names the
   * pepper under which the key is stored.
   */
  readonly add: (keyId: ApiKeyId, key: KeyMaterial, storedMac: Uint8Array, pepperName: string | null) => void
}

export const make: Effect.Effect<WaitingRewrites, never, SqlClient.SqlClient | KeyMac> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const keyMac = yield* KeyMac
  const waiting = new Map<ApiKeyId, Rewrite>()
  return {
    add: (keyId, key, storedMac, pepperName) => {
      if (pepperName === keyMac.pepperName || waiting.size >= MAX_WAITING_KEYS) return
      waiting.set(keyId, { storedMac, secretMac: keyMac.seal(key).secretMac })
    },

    rewrite: Effect.suspend(() => {
      const batch = [...waiting].slice(0, BATCH_SIZE)
      if (batch.length === 0) return Effect.succeed(0)
      const ids = arrayOf(batch.map(([keyId]) => keyId))
      const [stored, sealed] = [
        hexArray(batch.map(([, { storedMac }]) => storedMac)),
        hexArray(batch.map(([, { secretMac }]) => secretMac))
      ]
      // A row that another session has locked is skipped, because another node may be rewriting the key. If no node
      // rewrites the key, a later use of the key records it again. A row whose MAC has changed since the lookup stays
      // unchanged.
      return sql`
        WITH seen AS (
          SELECT seen.id, decode(seen.sealed, 'hex') AS secret_mac
          FROM unnest(${ids}::uuid[], ${stored}::text[], ${sealed}::text[]) AS seen (id, stored, sealed)
          JOIN api_key ON api_key.id = seen.id AND api_key.secret_mac = decode(seen.stored, 'hex')
          ORDER BY seen.id FOR NO KEY UPDATE OF api_key SKIP LOCKED
        )
        UPDATE api_key SET secret_mac = seen.secret_mac, pepper_name = ${keyMac.pepperName}
        FROM seen WHERE api_key.id = seen.id RETURNING api_key.id`.pipe(
        Effect.map((rewritten) => {
          for (const [keyId, rewrite] of batch) if (waiting.get(keyId) === rewrite) waiting.delete(keyId)
          return rewritten.length
        }),
        sqlErrorsAreDefects
      )
    })
  }
})

const hexArray = (macs: ReadonlyArray<Uint8Array>): string =>
  arrayOf(macs.map((mac) => Buffer.from(mac).toString("hex")))

/** Counts no keys, for a program that does not know the pepper. */
export const unknownLayer = Layer.succeed(KeyPeppers, { count: Effect.succeedNone, countEndpoints: Effect.succeedNone })

/** Counts the keys and endpoints, and compares their peppers with the peppers of the `KeyMac`. */
export const layer: Layer.Layer<KeyPeppers, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  KeyPeppers,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { pepperName, pepperVersions, previousPepperName = null } = yield* KeyMac
    return {
      countEndpoints: sql<{ all: number; unusable: number; others: number }>`
        SELECT count(*)::int AS all,
          count(*) FILTER (WHERE secret_version <> ALL (${arrayOf(pepperVersions.map(String))}::int[]))::int AS unusable,
          count(*) FILTER (WHERE secret_version = ANY (${arrayOf(pepperVersions.slice(1).map(String))}::int[]))::int AS others
        FROM webhook_endpoint`.pipe(
        Effect.map(([row]) => Option.fromNullable(row)),
        sqlErrorsAreDefects
      ),

      count: sql<{ all: number; refused: number; others: number; others_in_use: number }>`
        WITH usable AS (
          SELECT CASE WHEN pepper_name = ${pepperName} THEN 'current'
              WHEN pepper_name IS NULL OR pepper_name = ${previousPepperName}::text THEN 'other' ELSE 'refused' END AS pepper,
            used_at > now() - interval '30 days' AS in_use
          FROM api_key LEFT JOIN api_key_use ON key_id = id
          WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
        )
        SELECT count(*)::int AS all,
          count(*) FILTER (WHERE pepper = 'refused')::int AS refused,
          count(*) FILTER (WHERE pepper = 'other')::int AS others,
          count(*) FILTER (WHERE pepper = 'other' AND in_use)::int AS others_in_use
        FROM usable`.pipe(
        Effect.flatMap(([row]) =>
          row === undefined
            ? Effect.dieMessage("the database did not count the API keys")
            : Effect.succeedSome({ ...row, othersInUse: row.others_in_use })
        ),
        sqlErrorsAreDefects
      )
    }
  })
)
