/**
 * Lists the audit log in Postgres, newest first. The query uses the primary key for this order.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { AuditLogEntries, type AuditLogEntry } from "@tollgate/application/operator/AuditLogEntries"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

export const layer: Layer.Layer<AuditLogEntries, never, SqlClient.SqlClient> = Layer.effect(
  AuditLogEntries,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    page: (limit, before) =>
      sql<AuditLogEntry>`SELECT seq::text AS sequence, at, actor, action, subject, reason, detail FROM audit_log
        WHERE ${before === undefined ? sql`true` : sql`seq < ${before}::bigint`} ORDER BY seq DESC LIMIT ${limit}`.pipe(
        sqlErrorsAreDefects
      )
  }))
)
