/**
 * Reads and changes the limits of API keys in Postgres.
 *
 * A change writes the audit log in the same transaction, and notifies the authenticators of all nodes.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { KeyLimitStore, type KeyStatus } from "@tollgate/application/customer/KeyLimits"
import { type ApiKeyId, ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { changeLimits, type KeyLimitsChange, type UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import type { Operator } from "@tollgate/domain/operations/Operation"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KEYS_CHANNEL } from "../client/PgNotifications.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { findKey, limitsDetail, lockKey, readKey, writeLimits } from "./KeyLimitRows.ts"

export const layer: Layer.Layer<KeyLimitStore, never, SqlClient.SqlClient> = Layer.effect(
  KeyLimitStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      read: (keyId) =>
        Effect.flatMap(findKey(keyId), (found) =>
          found === undefined ? new ApiKeyNotFound({ keyId }) : Effect.succeed(found)
        ).pipe(sqlErrorsAreDefects, withSql),

      change: (keyId, change, operator) =>
        Effect.flatMap(changeKey(keyId, change, operator), (changed) =>
          changed === undefined ? new ApiKeyNotFound({ keyId }) : Effect.succeed(changed)
        ).pipe(transact, withSql),

      changeOfCustomer: (resellerId, keyId, change) =>
        Effect.gen(function* () {
          const own = yield* sql`
            SELECT FROM api_key k JOIN reseller_customer c ON c.user_id = k.user_id
            WHERE k.id = ${keyId} AND c.reseller_id = ${resellerId} FOR KEY SHARE OF c`
          const changed = own.length === 0 ? undefined : yield* changeKey(keyId, change, AuditLog.itself(resellerId))
          return changed ?? (yield* new NotFound({ what: "key" }))
        }).pipe(transact, withSql)
    }
  })
)

/** Changes the limits of a key; undefined if there is no such key. */
const changeKey = (
  keyId: ApiKeyId,
  change: KeyLimitsChange,
  operator: Operator
): Effect.Effect<KeyStatus | undefined, SqlError | UnknownModels, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* lockKey(keyId)
    const before = yield* findKey(keyId)
    if (before === undefined) return undefined
    const limits = changeLimits(before.key.limits, change)
    yield* writeLimits(keyId, limits, before.key.limits)
    const { id: subject, name, publicId, userId } = before.key
    const detail = { public_id: publicId, user_id: userId, name, ...limitsDetail(limits) }
    yield* AuditLog.record({ operator, action: "key.limits", subject, detail })
    yield* sql`SELECT pg_notify(${KEYS_CHANNEL}, ${publicId})`
    return yield* readKey(keyId)
  })
