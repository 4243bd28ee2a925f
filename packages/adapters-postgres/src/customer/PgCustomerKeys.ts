/**
 * API keys in Postgres, as resellers make and end them for their customers.
 *
 * What belongs to somebody else's customer is not found, as if it were not there.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { CustomerKeys } from "@tollgate/application/customer/CustomerKeys"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { transact } from "../client/Transact.ts"
import { itself } from "../operations/AuditLog.ts"
import type { KeyMac } from "./KeyMac.ts"
import { createKey, revokeKey } from "./KeyRows.ts"

export const layer: Layer.Layer<CustomerKeys, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  CustomerKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const context = yield* Effect.context<SqlClient.SqlClient | KeyMac>()
    const provided = Effect.provide(context)
    return {
      create: (resellerId, userId, name) =>
        Effect.gen(function* () {
          // Whoever would take the link away waits until the key is made.
          const [customer] = yield* sql<{ email: string }>`
            SELECT u.email FROM reseller_customer c JOIN app_user u ON u.id = c.user_id
            WHERE c.reseller_id = ${resellerId} AND c.user_id = ${userId} FOR KEY SHARE OF c`
          if (customer === undefined) return yield* new NotFound({ what: "customer" })
          return yield* createKey({ id: userId, ...customer }, name, itself(resellerId))
        }).pipe(transact, provided),

      revoke: (resellerId, keyId) =>
        Effect.gen(function* () {
          const own = yield* sql`
            SELECT FROM api_key k JOIN reseller_customer c ON c.user_id = k.user_id
            WHERE k.id = ${keyId} AND c.reseller_id = ${resellerId} FOR KEY SHARE OF c`
          const revoked = own.length === 0 ? undefined : yield* revokeKey(keyId, itself(resellerId))
          if (revoked?.revokedAt === undefined) return yield* new NotFound({ what: "key" })
          return { keyId: revoked.id, revokedAt: revoked.revokedAt }
        }).pipe(transact, provided)
    }
  })
)
