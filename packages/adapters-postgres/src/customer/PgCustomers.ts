/**
 * Stores the customers of resellers in Postgres.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Customers } from "@tollgate/application/customer/Customers"
import { type Customer, decideLink } from "@tollgate/domain/customer/Customer"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import { type ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { recordLowBalances } from "./LowBalances.ts"
import { findUser } from "./PgUsers.ts"

interface CustomerRow {
  readonly user_id: UserId
  readonly email: Email
}

export const layer: Layer.Layer<Customers, never, SqlClient.SqlClient> = Layer.effect(
  Customers,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    /** Finds the user with this email address, and reads whether the reseller is linked to the user. */
    const findCustomer = (resellerId: ResellerId, email: Email) =>
      Effect.map(
        sql<CustomerRow & { linked: boolean }>`
          SELECT u.id AS user_id, u.email, c.user_id IS NOT NULL AS linked
          FROM app_user u LEFT JOIN reseller_customer c ON c.user_id = u.id AND c.reseller_id = ${resellerId}
          WHERE u.email = ${email}`,
        ([row]) => row && ({ customer: toCustomer(row), owner: row.linked ? "customer" : "unlinked_user" } as const)
      )

    /** Creates a user. Returns undefined when a user with this email address already exists. */
    const createUser = (email: Email) =>
      Effect.gen(function* () {
        const [row] = yield* sql<CustomerRow>`INSERT INTO app_user (id, email) VALUES (${yield* nextUuidV7}, ${email})
          ON CONFLICT (email) DO NOTHING RETURNING id AS user_id, email`
        return row && toCustomer(row)
      })

    /**
     * Links a user to a reseller. A new link gets an entry in the audit log, because it allows the reseller to create
     * API keys that spend the user's balance.
     */
    const linkTo = (resellerId: ResellerId, { userId, email }: Customer, operator: Operator) =>
      Effect.gen(function* () {
        const linked = yield* sql`INSERT INTO reseller_customer (reseller_id, user_id) VALUES (${resellerId}, ${userId})
          ON CONFLICT DO NOTHING RETURNING user_id`
        if (linked.length === 0) return
        yield* recordLowBalances(resellerId, userId)
        const detail = { reseller_id: resellerId, email }
        yield* AuditLog.record({ operator, action: "customer.link", subject: userId, detail })
      })

    return {
      list: (resellerId) =>
        Effect.map(
          sql<CustomerRow>`SELECT u.id AS user_id, u.email
            FROM reseller_customer c JOIN app_user u ON u.id = c.user_id
            WHERE c.reseller_id = ${resellerId} ORDER BY u.email COLLATE "C"`,
          (rows) => rows.map(toCustomer)
        ).pipe(sqlErrorsAreDefects),

      resolve: (resellerId, email, policy) =>
        Effect.gen(function* () {
          const before = yield* findCustomer(resellerId, email)
          const created = before === undefined ? yield* createUser(email) : undefined
          const found =
            created === undefined
              ? (before ?? (yield* findCustomer(resellerId, email)))
              : ({ customer: created, owner: "none" } as const)
          if (found === undefined) return yield* Effect.dieMessage("the user does not exist and cannot be created")
          const decided = decideLink(found.owner, policy)
          if (decided.link) yield* linkTo(resellerId, found.customer, AuditLog.itself(resellerId))
          return { ...found.customer, created: decided.create }
        }).pipe(transact, withSql),

      link: (resellerId, email, operator) =>
        Effect.gen(function* () {
          const resellers = yield* sql`SELECT FROM reseller WHERE id = ${resellerId}`
          if (resellers.length === 0) return yield* new ResellerNotFound({ reseller: resellerId })
          const { id: userId } = yield* findUser(email)
          yield* linkTo(resellerId, { userId, email }, operator)
          return { userId, email }
        }).pipe(transact, withSql)
    }
  })
)

const toCustomer = ({ user_id, email }: CustomerRow): Customer => ({ userId: user_id, email })
