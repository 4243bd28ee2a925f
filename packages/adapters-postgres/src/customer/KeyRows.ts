/**
 * API keys as rows: made and ended inside somebody's transaction, with their entries in the audit log.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { CreatedKey } from "@tollgate/application/customer/ApiKeys"
import { type ApiKey, type ApiKeyId, mint, render } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import { KEYS_CHANNEL } from "../client/PgNotifications.ts"
import { nextUuidV7 } from "../client/SqlValues.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { KeyMac } from "./KeyMac.ts"

export interface KeyRow {
  readonly id: string
  readonly public_id: string
  readonly user_id: string
  readonly name: string
  readonly created_at: Date
  readonly revoked_at: Date | null
}

export const KEY_COLUMNS = "id, public_id, user_id, name, created_at, revoked_at"

export const toKey = (row: KeyRow): ApiKey => ({
  id: row.id as ApiKeyId,
  publicId: row.public_id,
  userId: row.user_id as UserId,
  name: row.name,
  createdAt: row.created_at,
  revokedAt: row.revoked_at ?? undefined
})

/** The secret is made here, handed out once, and only its seal is stored. */
export const createKey = (
  { id: userId, email }: { readonly id: UserId; readonly email: string },
  name: string,
  operator: Operator
): Effect.Effect<CreatedKey, SqlError, SqlClient.SqlClient | KeyMac> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keyMac = yield* KeyMac
    const id = yield* nextUuidV7
    const material = mint(keyMac.prefix, randomBytes(44))
    const { secretMac, pepperVersion } = keyMac.seal(material)
    const [row] = yield* sql<KeyRow>`
      INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version)
      VALUES (${id}, ${material.publicId}, ${userId}, ${name}, ${secretMac}, ${pepperVersion})
      RETURNING ${sql.literal(KEY_COLUMNS)}`
    if (row === undefined) return yield* Effect.dieMessage("an inserted key was not returned")
    const detail = { public_id: material.publicId, user_id: userId, email, name }
    yield* AuditLog.record({ operator, action: "key.create", subject: id, detail })
    // Somebody may have tried the public id before and been remembered as unknown.
    yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${material.publicId})`
    return { key: toKey(row), secret: render(keyMac.prefix, material) }
  })

/** The key as it then is; one that was revoked before stays as it was. None where there is no such key. */
export const revokeKey = (
  id: ApiKeyId,
  operator: Operator
): Effect.Effect<ApiKey | undefined, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(KEY_COLUMNS)
    const [revoked] = yield* sql<KeyRow>`
      UPDATE api_key SET revoked_at = greatest(clock_timestamp(), created_at)
      WHERE id = ${id} AND revoked_at IS NULL RETURNING ${columns}`
    if (revoked === undefined) {
      const [before] = yield* sql<KeyRow>`SELECT ${columns} FROM api_key WHERE id = ${id}`
      return before && toKey(before)
    }
    const detail = { public_id: revoked.public_id, user_id: revoked.user_id, name: revoked.name }
    yield* AuditLog.record({ operator, action: "key.revoke", subject: revoked.id, detail })
    yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${revoked.public_id})`
    return toKey(revoked)
  })
