/**
 * Stores API keys in Postgres. Operators and the customer's resellers create and revoke them.
 *
 * Creation and revocation write the audit log in the same transaction, and notify the authenticators of all nodes.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { ApiKeys, type CreatedKey, CustomerKeys } from "@tollgate/application/customer/ApiKeys"
import { type ApiKey, type ApiKeyId, ApiKeyNotFound, generateKey, render } from "@tollgate/domain/customer/ApiKey"
import { isUnlimited, type KeyLimits, noLimits, type UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KEYS_CHANNEL } from "../client/PgNotifications.ts"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { findKey, KEY_COLUMNS, KEY_TABLES, type KeyRow, limitsDetail, toKey, writeLimits } from "./KeyLimitRows.ts"
import { KeyMac } from "./KeyMac.ts"
import { findUser } from "./PgUsers.ts"

/** Provides the API key operations of operators. */
export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const context = yield* Effect.context<SqlClient.SqlClient | KeyMac>()
    const provided = Effect.provide(context)
    return {
      create: (email, name, operator, limits = noLimits) =>
        Effect.flatMap(findUser(email), (user) => createKey(user, name, limits, operator)).pipe(transact, provided),

      list: (email) =>
        Effect.gen(function* () {
          const user = yield* findUser(email)
          const rows = yield* sql<KeyRow>`SELECT ${sql.literal(KEY_COLUMNS)} FROM ${sql.literal(KEY_TABLES)}
            WHERE api_key.user_id = ${user.id} ORDER BY api_key.created_at DESC, api_key.id DESC`
          return rows.map(toKey)
        }).pipe(sqlErrorsAreDefects, provided),

      revoke: (id, operator) =>
        Effect.flatMap(revokeKey(id, operator), (key) =>
          key === undefined ? new ApiKeyNotFound({ keyId: id }) : Effect.succeed(key)
        ).pipe(transact, provided)
    }
  })
)

/**
 * Provides the API key operations of resellers. For users that are not linked to the reseller, they fail as not found.
 */
export const customerKeysLayer: Layer.Layer<CustomerKeys, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  CustomerKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const context = yield* Effect.context<SqlClient.SqlClient | KeyMac>()
    const provided = Effect.provide(context)
    return {
      create: (resellerId, userId, name, limits = noLimits) =>
        Effect.gen(function* () {
          // The lock keeps another session from removing the link until the key is created.
          const [customer] = yield* sql<{ email: string }>`
            SELECT u.email FROM reseller_customer c JOIN app_user u ON u.id = c.user_id
            WHERE c.reseller_id = ${resellerId} AND c.user_id = ${userId} FOR KEY SHARE OF c`
          if (customer === undefined) return yield* new NotFound({ what: "customer" })
          return yield* createKey({ id: userId, ...customer }, name, limits, AuditLog.itself(resellerId))
        }).pipe(transact, provided),

      revoke: (resellerId, keyId) =>
        Effect.gen(function* () {
          const own = yield* sql`
            SELECT FROM api_key k JOIN reseller_customer c ON c.user_id = k.user_id
            WHERE k.id = ${keyId} AND c.reseller_id = ${resellerId} FOR KEY SHARE OF c`
          const revoked = own.length === 0 ? undefined : yield* revokeKey(keyId, AuditLog.itself(resellerId))
          if (revoked?.revokedAt === undefined) return yield* new NotFound({ what: "key" })
          return { keyId: revoked.id, revokedAt: revoked.revokedAt }
        }).pipe(transact, provided)
    }
  })
)

/** Creates a key with a generated secret. The secret is returned once. Only its MAC is stored. */
const createKey = (
  { id: userId, email }: { readonly id: UserId; readonly email: string },
  name: string,
  limits: KeyLimits,
  operator: Operator
): Effect.Effect<CreatedKey, SqlError | UnknownModels, SqlClient.SqlClient | KeyMac> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keyMac = yield* KeyMac
    const id = yield* nextUuidV7
    const material = generateKey(keyMac.prefix, randomBytes(44))
    const { pepperName, secretMac } = keyMac.seal(material)
    const keyId = id as ApiKeyId
    const { publicId } = material
    const [row] = yield* sql<{ name: string; created_at: Date }>`
      INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version, pepper_name)
      VALUES (${id}, ${publicId}, ${userId}, ${name}, ${secretMac}, 1, ${pepperName}) RETURNING name, created_at`
    if (row === undefined) return yield* Effect.dieMessage("the database did not return the inserted API key")
    if (!isUnlimited(limits)) yield* writeLimits(keyId, limits)
    const stored = { id: keyId, publicId, userId, name: row.name, createdAt: row.created_at }
    const key: ApiKey = { ...stored, revokedAt: undefined, limits }
    const detail = { public_id: material.publicId, user_id: userId, email, name, ...limitsDetail(limits) }
    yield* AuditLog.record({ operator, action: "key.create", subject: id, detail })
    // An authenticator may have cached this public id as unknown.
    yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${material.publicId})`
    return { key, secret: render(keyMac.prefix, material) }
  })

/**
 * Revokes a key and returns it; undefined when the key does not exist. A key that is already revoked stays unchanged.
 */
const revokeKey = (
  id: ApiKeyId,
  operator: Operator
): Effect.Effect<ApiKey | undefined, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const revoked = yield* sql`
      UPDATE api_key SET revoked_at = greatest(clock_timestamp(), created_at)
      WHERE id = ${id} AND revoked_at IS NULL RETURNING id`
    const key = yield* findKey(id)
    if (key === undefined || revoked.length === 0) return key?.key
    const { id: subject, name, publicId, userId } = key.key
    const detail = { public_id: publicId, user_id: userId, name }
    yield* AuditLog.record({ operator, action: "key.revoke", subject, detail })
    yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${publicId})`
    return key.key
  })
