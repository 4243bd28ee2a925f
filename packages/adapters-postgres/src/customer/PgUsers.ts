/**
 * Stores users in Postgres.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Users } from "@tollgate/application/customer/Users"
import { type User, UserExists, UserId, UserNotFound } from "@tollgate/domain/customer/User"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { type BalanceRow, toBalances } from "./PgBalances.ts"

interface UserRow {
  readonly id: string
  readonly email: string
  readonly status: "active" | "blocked"
  readonly created_at: Date
}

interface ListedRow extends UserRow {
  readonly payg_pico: bigint
  readonly active_keys: number
  readonly resellers: ReadonlyArray<string>
}

/** Returns the user with this email address. Fails with `UserNotFound` when no user has it. */
export const findUser = (email: Email) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<UserRow>`SELECT id, email, status, created_at FROM app_user WHERE email = ${email}`
    return row === undefined ? yield* new UserNotFound({ email }) : toUser(row)
  })

export const layer: Layer.Layer<Users, never, SqlClient.SqlClient> = Layer.effect(
  Users,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      create: (email, operator) =>
        Effect.gen(function* () {
          const id = yield* nextUuidV7
          const [row] = yield* sql<UserRow>`INSERT INTO app_user (id, email) VALUES (${id}, ${email})
            ON CONFLICT (email) DO NOTHING RETURNING id, email, status, created_at`
          if (row === undefined) return yield* new UserExists({ email })
          yield* AuditLog.record({ operator, action: "user.create", subject: id, detail: { email } })
          return toUser(row)
        }).pipe(transact, withSql),

      find: (email) => findUser(email).pipe(sqlErrorsAreDefects, withSql),

      named: (idOrEmail) =>
        Effect.gen(function* () {
          const id = readId(idOrEmail)
          const email = readEmail(idOrEmail)
          if (Option.isSome(id)) {
            const [row] = yield* sql<UserRow>`SELECT id, email, status, created_at FROM app_user WHERE id = ${id.value}`
            if (row !== undefined) return toUser(row)
          }
          return Option.isSome(email) ? yield* findUser(email.value) : yield* new UserNotFound({ email: idOrEmail })
        }).pipe(sqlErrorsAreDefects, withSql),

      // Ids contain the time of their creation, so the primary key orders the users by their age. Emails are stored in
      // lower case. JavaScript converts the search text to lower case, because the SQL function `lower` depends on the
      // locale of the database.
      list: ({ limit, olderThan, search, status }) =>
        Effect.map(
          sql<ListedRow>`
            SELECT u.id, u.email, u.status, u.created_at,
              coalesce((SELECT a.credits_posted - a.debits_posted FROM account a
                WHERE a.user_id = u.id AND a.kind = 'payg'), 0) AS payg_pico,
              (SELECT count(*)::int FROM api_key k WHERE k.user_id = u.id AND k.revoked_at IS NULL) AS active_keys,
              ARRAY(SELECT r.email FROM reseller_customer c JOIN reseller r ON r.id = c.reseller_id
                WHERE c.user_id = u.id ORDER BY c.linked_at, r.id) AS resellers
            FROM app_user u
            WHERE ${sql.and([
              sql`true`,
              ...(status === undefined ? [] : [sql`u.status = ${status}`]),
              ...(olderThan === undefined ? [] : [sql`u.id < ${olderThan}`]),
              ...(search === undefined ? [] : [sql`position(${search.toLowerCase()} IN u.email) > 0`])
            ])} ORDER BY u.id DESC LIMIT ${limit}`,
          (rows) =>
            rows.map((row) => ({
              ...toUser(row),
              paygPico: UsdPico(row.payg_pico),
              activeKeys: row.active_keys,
              resellers: row.resellers
            }))
        ).pipe(sqlErrorsAreDefects),

      balances: ({ id }) =>
        Effect.gen(function* () {
          // One condition per kind, because each kind has its own partial index.
          const rows = yield* sql<BalanceRow>`
            SELECT a.id, m.public_name, a.credits_posted, a.debits_posted, a.debits_pending
            FROM account a LEFT JOIN model m ON m.id = a.model_id
            WHERE a.user_id = ${id} AND (a.kind = 'payg' OR a.kind = 'plan')
            ORDER BY m.public_name COLLATE "C"`
          return toBalances(rows)
        }).pipe(sqlErrorsAreDefects)
    }
  })
)

const readId = Schema.decodeUnknownOption(Schema.compose(Schema.Trim, UserId))
const readEmail = Schema.decodeUnknownOption(Email)

const toUser = (row: UserRow): User => ({
  id: row.id as UserId,
  email: row.email as Email,
  status: row.status,
  createdAt: row.created_at
})
