/**
 * API keys in Postgres, as an operator makes and ends them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import type { KeyMac } from "./KeyMac.ts"
import { createKey, KEY_COLUMNS, type KeyRow, revokeKey, toKey } from "./KeyRows.ts"
import { findUser } from "./PgUsers.ts"

export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const context = yield* Effect.context<SqlClient.SqlClient | KeyMac>()
    const provided = Effect.provide(context)
    return {
      create: (email, name, operator) =>
        Effect.flatMap(findUser(email), (user) => createKey(user, name, operator)).pipe(transact, provided),

      list: (email) =>
        Effect.gen(function* () {
          const user = yield* findUser(email)
          const rows = yield* sql<KeyRow>`SELECT ${sql.literal(KEY_COLUMNS)} FROM api_key
            WHERE user_id = ${user.id} ORDER BY created_at DESC, id DESC`
          return rows.map(toKey)
        }).pipe(sqlErrorsAreDefects, provided),

      revoke: (id, operator) =>
        Effect.flatMap(revokeKey(id, operator), (key) =>
          key === undefined ? new ApiKeyNotFound({ keyId: id }) : Effect.succeed(key)
        ).pipe(transact, provided)
    }
  })
)
