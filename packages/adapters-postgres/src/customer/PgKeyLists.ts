/**
 * Lists the API keys of customers from Postgres.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import type { ListedKey } from "@tollgate/domain/customer/ApiKey"
import type { CursorPage } from "@tollgate/domain/validation/Cursor"
import type { Email } from "@tollgate/domain/validation/Email"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { type KeyRow, LIMIT_COLUMNS, toKey } from "./KeyLimitRows.ts"
import { KeyMac } from "./KeyMac.ts"

interface ListedKeyRow extends PositionRow, KeyRow {
  readonly email: Email
  readonly last_used_at: Date | null
}

export const layer: Layer.Layer<KeyLists, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  KeyLists,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { prefix } = yield* KeyMac
    const limitColumns = sql.literal(LIMIT_COLUMNS)
    const { position, below, newestFirst } = yield* listSql("k.created_at", "k.id")

    const toListedKey = (row: ListedKeyRow): ListedKey => ({
      ...toKey(row),
      position: toPosition(row),
      prefix: `${prefix}_${row.public_id}`,
      email: row.email,
      lastUsedAt: row.last_used_at ?? undefined
    })

    /** Returns the newest keys of these users. The newest keys of each user are found with an index. */
    const newest = (users: Fragment, { limit, after }: CursorPage) =>
      Effect.map(
        sql<ListedKeyRow>`
          SELECT ${position}, k.id, k.public_id, k.user_id, u.email, k.name, k.created_at, k.revoked_at,
            k.expires_at, k.models, ${limitColumns}, used.used_at AS last_used_at
          FROM (
            SELECT k.* FROM (${users}) AS c CROSS JOIN LATERAL (
              SELECT k.* FROM api_key k WHERE k.user_id = c.user_id AND ${below(after)} ${newestFirst} LIMIT ${limit}) AS k
            ${newestFirst} LIMIT ${limit}) AS k
            JOIN app_user u ON u.id = k.user_id LEFT JOIN api_key_use used ON used.key_id = k.id
            LEFT JOIN counted_key ON counted_key.key_id = k.id
          ${newestFirst}`,
        (rows) => rows.map(toListedKey)
      )

    return {
      ofReseller: (resellerId, page) =>
        sqlErrorsAreDefects(newest(sql`SELECT user_id FROM reseller_customer WHERE reseller_id = ${resellerId}`, page)),

      ofUser: (userId, page) => sqlErrorsAreDefects(newest(sql`SELECT ${userId}::uuid AS user_id`, page)),

      ofCustomer: (resellerId, userId, page) =>
        Effect.gen(function* () {
          const users = sql`SELECT user_id FROM reseller_customer WHERE reseller_id = ${resellerId} AND user_id = ${userId}`
          if ((yield* users).length === 0) return yield* new NotFound({ what: "customer" })
          return yield* newest(users, page)
        }).pipe(sqlErrorsAreDefects)
    }
  })
)
