/**
 * Collects the uses of API keys that the authenticator has seen, and stores them when `record` runs.
 *
 * The authenticator sees a use only when it looks up the key in the database. A cached key is looked up again after the
 * lifetime of its cache entry. A request whose key is cached costs nothing here.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { KeyUses } from "@tollgate/application/customer/KeyLists"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { arrayOf } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

/** Maximum number of keys whose uses wait to be stored. Uses of further keys are not collected until the next round. */
const MAX_KEYS = 100_000

export interface SeenKeys extends Context.Tag.Service<KeyUses> {
  readonly add: (keyId: ApiKeyId, at: Date) => void
}

export const make: Effect.Effect<SeenKeys, never, SqlClient.SqlClient> = Effect.map(SqlClient.SqlClient, (sql) => {
  const seen = new Map<ApiKeyId, Date>()
  return {
    add: (keyId, at) => {
      if (seen.size < MAX_KEYS || seen.has(keyId)) seen.set(keyId, at)
    },

    record: Effect.suspend(() => {
      if (seen.size === 0) return Effect.void
      const uses = [...seen]
      const ids = arrayOf(uses.map(([keyId]) => keyId))
      const times = arrayOf(uses.map(([, at]) => at.toISOString()))
      // Nodes that store the same keys lock the rows in the same order, so they cannot deadlock.
      return sql`
        INSERT INTO api_key_use AS known (key_id, used_at)
        SELECT key_id, used_at FROM unnest(${ids}::uuid[], ${times}::timestamptz[]) AS seen (key_id, used_at) ORDER BY key_id
        ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at WHERE known.used_at < excluded.used_at`.pipe(
        Effect.zipRight(
          Effect.sync(() => {
            for (const [keyId, at] of uses) if (seen.get(keyId) === at) seen.delete(keyId)
          })
        ),
        sqlErrorsAreDefects
      )
    })
  }
})
