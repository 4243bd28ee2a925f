/**
 * Stores the blacklist in Postgres: email addresses and domains that cannot sign up as resellers.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import type { Operator } from "@tollgate/domain/operations/Operation"
import {
  type BlacklistEntry,
  type BlacklistPattern,
  PatternNotListed,
  patternsAgainst
} from "@tollgate/domain/reseller/Blacklist"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"

interface EntryRow {
  readonly pattern: BlacklistPattern
  readonly created_at: Date
}

export const layer: Layer.Layer<Blacklist, never, SqlClient.SqlClient> = Layer.effect(
  Blacklist,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    const add = (
      pattern: BlacklistPattern,
      operator: Operator
    ): Effect.Effect<BlacklistEntry, SqlError, SqlClient.SqlClient> =>
      Effect.gen(function* () {
        const [added] = yield* sql<EntryRow>`INSERT INTO email_blacklist (pattern) VALUES (${pattern})
          ON CONFLICT (pattern) DO NOTHING RETURNING pattern, created_at`
        if (added !== undefined) {
          yield* AuditLog.record({ operator, action: "blacklist.add", subject: pattern, detail: {} })
          return toEntry(added)
        }
        const [listed] =
          yield* sql<EntryRow>`SELECT pattern, created_at FROM email_blacklist WHERE pattern = ${pattern}`
        // Another session may have removed the entry since the insert.
        return listed === undefined ? yield* add(pattern, operator) : toEntry(listed)
      })

    return {
      covers: (email) =>
        Effect.map(
          sql`SELECT FROM email_blacklist WHERE ${sql.in("pattern", patternsAgainst(email))}`,
          (rows) => rows.length > 0
        ).pipe(sqlErrorsAreDefects),

      list: Effect.map(
        sql<EntryRow>`SELECT pattern, created_at FROM email_blacklist ORDER BY pattern COLLATE "C"`,
        (rows) => rows.map(toEntry)
      ).pipe(sqlErrorsAreDefects),

      page: (limit, after) =>
        Effect.map(
          sql<EntryRow>`SELECT pattern, created_at FROM email_blacklist
            WHERE ${after === undefined ? sql`true` : sql`pattern COLLATE "C" > ${after}`}
            ORDER BY pattern COLLATE "C" LIMIT ${limit}`,
          (rows) => rows.map(toEntry)
        ).pipe(sqlErrorsAreDefects),

      add: (pattern, operator) => add(pattern, operator).pipe(transact, withSql),

      remove: (pattern, operator) =>
        Effect.gen(function* () {
          const [removed] = yield* sql<EntryRow>`DELETE FROM email_blacklist WHERE pattern = ${pattern}
            RETURNING pattern, created_at`
          if (removed === undefined) return yield* new PatternNotListed({ pattern })
          yield* AuditLog.record({ operator, action: "blacklist.remove", subject: pattern, detail: {} })
          return toEntry(removed)
        }).pipe(transact, withSql)
    }
  })
)

const toEntry = ({ pattern, created_at }: EntryRow): BlacklistEntry => ({ pattern, createdAt: created_at })
