/**
 * API keys in Postgres. A secret is made here, handed out once, and only its seal is stored.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { ApiKeys } from "@tollgate/application/ports/ApiKeys"
import { type ApiKey, type ApiKeyId, ApiKeyNotFound, mint, render } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KEYS_CHANNEL } from "../client/Channels.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { nextUuidV7 } from "../client/UuidV7.ts"
import * as AuditLog from "./AuditLog.ts"
import { KeyMac } from "./KeyMac.ts"
import { findUser } from "./PgUsers.ts"

interface KeyRow {
  readonly id: string
  readonly public_id: string
  readonly user_id: string
  readonly name: string
  readonly created_at: Date
  readonly revoked_at: Date | null
}

export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keyMac = yield* KeyMac
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const columns = sql.literal("id, public_id, user_id, name, created_at, revoked_at")
    return {
      create: (email, name, operator) =>
        Effect.gen(function* () {
          const user = yield* findUser(email)
          const id = yield* nextUuidV7
          const material = mint(keyMac.prefix, randomBytes(44))
          const { secretMac, pepperVersion } = keyMac.seal(material)
          const rows = yield* sql<KeyRow>`
            INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version)
            VALUES (${id}, ${material.publicId}, ${user.id}, ${name}, ${secretMac}, ${pepperVersion})
            RETURNING ${columns}`
          const detail = { public_id: material.publicId, user_id: user.id, email, name }
          yield* AuditLog.record({ operator, action: "key.create", subject: id, detail })
          // Somebody may have tried the public id before and been remembered as unknown.
          yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${material.publicId})`
          const [key] = rows.map(toKey)
          if (key === undefined) return yield* Effect.dieMessage("an inserted key was not returned")
          return { key, secret: render(keyMac.prefix, material) }
        }).pipe(transact, withSql),

      list: (email) =>
        Effect.gen(function* () {
          const user = yield* findUser(email)
          const rows = yield* sql<KeyRow>`SELECT ${columns} FROM api_key
            WHERE user_id = ${user.id} ORDER BY created_at DESC, id DESC`
          return rows.map(toKey)
        }).pipe(sqlErrorsAreDefects, withSql),

      revoke: (id, operator) =>
        Effect.gen(function* () {
          const [revoked] = yield* sql<KeyRow>`
            UPDATE api_key SET revoked_at = greatest(clock_timestamp(), created_at)
            WHERE id = ${id} AND revoked_at IS NULL RETURNING ${columns}`
          if (revoked !== undefined) {
            const detail = { public_id: revoked.public_id, user_id: revoked.user_id, name: revoked.name }
            yield* AuditLog.record({ operator, action: "key.revoke", subject: id, detail })
            yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${revoked.public_id})`
            return toKey(revoked)
          }
          const [before] = yield* sql<KeyRow>`SELECT ${columns} FROM api_key WHERE id = ${id}`
          return before === undefined ? yield* new ApiKeyNotFound({ keyId: id }) : toKey(before)
        }).pipe(transact, withSql)
    }
  })
)

const toKey = (row: KeyRow): ApiKey => ({
  id: row.id as ApiKeyId,
  publicId: row.public_id,
  userId: row.user_id as UserId,
  name: row.name,
  createdAt: row.created_at,
  revokedAt: row.revoked_at ?? undefined
})
