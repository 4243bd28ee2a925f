/**
 * Stores the sessions of operators in Postgres. Codes and tokens are random, and only their SHA-256 digests are stored.
 *
 * Decisions use the database time, not the clock of the server. `open`, `end` and `endAll` lock the rows before they
 * read this time. `use` decides without a lock, because it runs for every request of an operator.
 */
import { createHash, randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import type { Operator } from "@tollgate/domain/operations/Operation"
import {
  decideOpening,
  decideUse,
  type OperatorName,
  type OperatorSession,
  type OperatorSessionId,
  OperatorSessionNotFound,
  stateOf
} from "@tollgate/domain/operator/OperatorSession"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"

interface SessionRow {
  readonly id: OperatorSessionId
  readonly actor: OperatorName
  readonly created_at: Date
  readonly opened_at: Date | null
  readonly used_at: Date | null
  readonly ended_at: Date | null
}

const COLUMNS = "id, actor, created_at, opened_at, used_at, ended_at"
const RANDOM_BYTES = 32

/** The prefixes let a person and a secret scanner recognise a leaked code or token. */
const newSecret = (prefix: "tgc" | "tgo"): Redacted.Redacted<string> =>
  Redacted.make(`${prefix}_${randomBytes(RANDOM_BYTES).toString("base64url")}`)

const digestOf = (secret: Redacted.Redacted<string>): Buffer =>
  createHash("sha256").update(Redacted.value(secret)).digest()

export const layer: Layer.Layer<OperatorSessions, never, SqlClient.SqlClient> = Layer.effect(
  OperatorSessions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const columns = sql.literal(COLUMNS)

    /** Ends a locked session that is waiting or open. A session in another state stays unchanged. */
    const end = (session: OperatorSession, now: Date, operator: Operator) =>
      Effect.gen(function* () {
        const { actor, id } = session
        const before = stateOf(session, now)
        if (before === "ended" || before === "expired") return session
        yield* sql`UPDATE operator_session SET ended_at = ${now} WHERE id = ${id}`
        yield* AuditLog.record({
          operator,
          action: "console.end",
          subject: id,
          detail: { actor, state_before: before }
        })
        return { ...session, endedAt: now }
      })

    return {
      create: (actor, operator) =>
        Effect.gen(function* () {
          yield* sql`DELETE FROM operator_session WHERE created_at < clock_timestamp() - interval '7 days'`
          const code = newSecret("tgc")
          const id = yield* nextUuidV7
          const [row] = yield* sql<SessionRow>`INSERT INTO operator_session (id, actor, code_digest, created_at)
            VALUES (${id}, ${actor}, ${digestOf(code)}, ${yield* databaseTime}) RETURNING ${columns}`
          if (row === undefined) return yield* Effect.dieMessage("the database returned no operator session")
          yield* AuditLog.record({ operator, action: "console.create", subject: id, detail: { actor } })
          return { session: toSession(row), code }
        }).pipe(transact, withSql),

      open: (code, address) =>
        Effect.gen(function* () {
          const [row] = yield* sql<SessionRow>`SELECT ${columns} FROM operator_session
            WHERE code_digest = ${digestOf(code)} FOR UPDATE`
          const now = yield* databaseTime
          const session = yield* decideOpening(row && toSession(row), now)
          const token = newSecret("tgo")
          yield* sql`UPDATE operator_session SET token_digest = ${digestOf(token)}, opened_at = ${now}, used_at = ${now}
            WHERE id = ${session.id}`
          const operator = { actor: session.actor, reason: "console: redemption of the code" }
          yield* AuditLog.record({ operator, action: "console.open", subject: session.id, detail: { address } })
          return { session, token }
        }).pipe(transact, withSql),

      use: (token) =>
        Effect.gen(function* () {
          const [row] = yield* sql<SessionRow & { now: Date }>`SELECT ${columns}, clock_timestamp() AS now
            FROM operator_session WHERE token_digest = ${digestOf(token)}`
          const { recorded, session } = yield* decideUse(row && toSession(row), row?.now ?? new Date(0))
          if (recorded) {
            // The session may have ended since it was read. A trigger refuses every change of an ended session, so the
            // condition skips such a session.
            yield* sql`UPDATE operator_session SET used_at = greatest(used_at, ${session.usedAt})
              WHERE id = ${session.id} AND ended_at IS NULL`
          }
          return session
        }).pipe(sqlErrorsAreDefects),

      list: Effect.map(
        sql<SessionRow & { now: Date }>`SELECT ${columns}, clock_timestamp() AS now FROM operator_session
          ORDER BY created_at DESC, id DESC`,
        (rows) => rows.map((row) => ({ session: toSession(row), now: row.now }))
      ).pipe(sqlErrorsAreDefects),

      end: (id, operator) =>
        Effect.gen(function* () {
          const [row] = yield* sql<SessionRow>`SELECT ${columns} FROM operator_session WHERE id = ${id} FOR UPDATE`
          if (row === undefined) return yield* new OperatorSessionNotFound({ id })
          const now = yield* databaseTime
          return { session: yield* end(toSession(row), now, operator), now }
        }).pipe(transact, withSql),

      endAll: (operator) =>
        Effect.gen(function* () {
          const rows = yield* sql<SessionRow>`SELECT ${columns} FROM operator_session WHERE ended_at IS NULL
            ORDER BY id FOR UPDATE`
          const now = yield* databaseTime
          const ended = yield* Effect.forEach(rows.map(toSession), (session) => end(session, now, operator))
          return ended.filter(({ endedAt }) => endedAt !== undefined)
        }).pipe(transact, withSql)
    }
  })
)

const toSession = (row: SessionRow): OperatorSession => ({
  id: row.id,
  actor: row.actor,
  createdAt: row.created_at,
  openedAt: row.opened_at ?? undefined,
  usedAt: row.used_at ?? undefined,
  endedAt: row.ended_at ?? undefined
})
