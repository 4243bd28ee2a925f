/**
 * Stores resellers in Postgres, and changes their status when an operator reviews them. Nothing is cached, so a
 * suspension takes effect at the next request.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { PasswordHash } from "@tollgate/application/reseller/PasswordHasher"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { type Reseller, ResellerId, ResellerNotFound, type ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { decideTokenEnd } from "@tollgate/domain/reseller/ResellerToken"
import { decideReview } from "@tollgate/domain/reseller/Review"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { Email } from "@tollgate/domain/validation/Email"
import { resellerReviewed } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { writeEvent } from "../webhook/Outbox.ts"

interface ResellerRow {
  readonly id: ResellerId
  readonly email: Email
  readonly name: string
  readonly wa_number: string
  readonly status: ResellerStatus
  readonly token_version: number
  readonly created_at: Date
}

export const layer: Layer.Layer<Resellers, never, SqlClient.SqlClient> = Layer.effect(
  Resellers,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const { position, below, newestFirst } = yield* listSql("created_at", "id")
    const columns = sql.literal("id, email, name, wa_number, status, token_version, created_at")

    const byId = (id: ResellerId) =>
      Effect.map(sql<ResellerRow>`SELECT ${columns} FROM reseller WHERE id = ${id}`, ([row]) => row)
    const byEmail = (email: Email) =>
      Effect.map(sql<ResellerRow>`SELECT ${columns} FROM reseller WHERE email = ${email}`, ([row]) => row)

    return {
      create: ({ email, name, waNumber, passwordHash }) =>
        Effect.gen(function* () {
          const [row] = yield* sql<ResellerRow>`INSERT INTO reseller (id, email, name, wa_number, password_hash)
            VALUES (${yield* nextUuidV7}, ${email}, ${name}, ${waNumber}, ${Redacted.value(passwordHash)})
            ON CONFLICT (email) DO NOTHING RETURNING ${columns}`
          if (row === undefined) return yield* new EmailExists()
          yield* sql`INSERT INTO account (id, kind, unit, reseller_id)
            VALUES (${yield* nextUuidV7}, 'reseller_quota', 'usd_micro', ${row.id})`
          return toReseller(row)
        }).pipe(transact, withSql),

      find: (id) =>
        Effect.map(byId(id), (row) => Option.map(Option.fromNullable(row), toReseller)).pipe(sqlErrorsAreDefects),

      credentials: (email) =>
        Effect.map(
          sql<ResellerRow & { password_hash: string }>`SELECT ${columns}, password_hash FROM reseller
            WHERE email = ${email}`,
          ([row]) =>
            Option.map(Option.fromNullable(row), (found) => ({
              reseller: toReseller(found),
              passwordHash: PasswordHash(Redacted.make(found.password_hash))
            }))
        ).pipe(sqlErrorsAreDefects),

      named: (idOrEmail) =>
        Effect.gen(function* () {
          const id = readId(idOrEmail)
          const email = readEmail(idOrEmail)
          const row = Option.isSome(id)
            ? yield* byId(id.value)
            : Option.isSome(email)
              ? yield* byEmail(email.value)
              : undefined
          return row === undefined ? yield* new ResellerNotFound({ reseller: idOrEmail }) : toReseller(row)
        }).pipe(sqlErrorsAreDefects),

      list: (status) =>
        Effect.map(
          sql<ResellerRow>`SELECT ${columns} FROM reseller
            WHERE ${status === undefined ? sql`true` : sql`status = ${status}`} ORDER BY created_at DESC, id DESC`,
          (rows) => rows.map(toReseller)
        ).pipe(sqlErrorsAreDefects),

      // Emails are stored in lower case. Names are compared with the SQL function `lower`, which changes only the
      // letters A to Z in a database with the locale C.
      page: ({ status, search }, { limit, after }) =>
        Effect.map(
          sql<ResellerRow & PositionRow>`SELECT ${columns}, ${position} FROM reseller
            WHERE ${status === undefined ? sql`true` : sql`status = ${status}`} AND ${below(after)}
              AND ${search === undefined ? sql`true` : sql`(position(${search.toLowerCase()} IN email) > 0 OR position(lower(${search}) IN lower(name)) > 0)`}
            ${newestFirst} LIMIT ${limit}`,
          (rows) => rows.map((row) => ({ ...toReseller(row), position: toPosition(row) }))
        ).pipe(sqlErrorsAreDefects),

      endTokens: (caller, newPassword) =>
        Effect.gen(function* () {
          const [row] =
            yield* sql<ResellerRow>`SELECT ${columns} FROM reseller WHERE id = ${caller.id} FOR NO KEY UPDATE`
          const reseller = yield* decideTokenEnd(caller, row && toReseller(row))
          const { id, email, tokenVersion } = reseller
          if (newPassword === undefined) {
            yield* sql`UPDATE reseller SET token_version = ${tokenVersion} WHERE id = ${id}`
            return reseller
          }
          yield* sql`UPDATE reseller SET token_version = ${tokenVersion}, password_hash = ${Redacted.value(newPassword)}
            WHERE id = ${id}`
          const operator = AuditLog.itself(id)
          yield* AuditLog.record({ operator, action: "reseller.password", subject: id, detail: { email } })
          return reseller
        }).pipe(transact, withSql),

      review: (id, move, operator) =>
        Effect.gen(function* () {
          const [row] = yield* sql<ResellerRow>`SELECT ${columns} FROM reseller WHERE id = ${id} FOR NO KEY UPDATE`
          if (row === undefined) return yield* new ResellerNotFound({ reseller: id })
          const { reseller, changed } = yield* decideReview(toReseller(row), move)
          if (!changed) return reseller
          const { status, tokenVersion, email } = reseller
          yield* sql`UPDATE reseller SET status = ${status}, token_version = ${tokenVersion} WHERE id = ${id}`
          const detail = { email, status_before: row.status, status }
          yield* AuditLog.record({ operator, action: `reseller.${move}`, subject: id, detail })
          yield* writeEvent(resellerReviewed(reseller, row.status, move))
          return reseller
        }).pipe(transact, withSql)
    }
  })
)

const readId = Schema.decodeUnknownOption(Schema.compose(Schema.Trim, ResellerId))
const readEmail = Schema.decodeUnknownOption(Email)

const toReseller = (row: ResellerRow): Reseller => ({
  id: row.id,
  email: row.email,
  name: row.name,
  waNumber: row.wa_number,
  status: row.status,
  tokenVersion: row.token_version,
  createdAt: row.created_at
})
