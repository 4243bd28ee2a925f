/**
 * Reads the balances of customers from Postgres. One statement reads the accounts and the time, and for a reseller also
 * the link to the customer, so all of them belong to one snapshot.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Balances, type BalancesStatement } from "@tollgate/application/customer/Balances"
import { type CustomerBalances, tokenPlan } from "@tollgate/domain/customer/Customer"
import type { UserId } from "@tollgate/domain/customer/User"
import { remaining } from "@tollgate/domain/ledger/Account"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico, zero } from "@tollgate/domain/money/UsdPico"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { type AccountRow, toAccount } from "../ledger/AccountRows.ts"

interface CustomerRow {
  readonly user_id: UserId
  readonly as_of: Date
}

/** One row per account, or a single row with null columns when the customer has no account. */
type Row = CustomerRow & (BalanceRow | { readonly id: null })

export const layer: Layer.Layer<Balances, never, SqlClient.SqlClient> = Layer.effect(
  Balances,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(`c.user_id, statement_timestamp() AS as_of,
      a.id, m.public_name, a.credits_posted, a.debits_posted, a.debits_pending`)
    const accounts = sql.literal(`
      LEFT JOIN account a ON a.user_id = c.user_id AND (a.kind = 'payg' OR a.kind = 'plan')
      LEFT JOIN model m ON m.id = a.model_id`)
    return {
      ofCustomer: (resellerId, userId) =>
        Effect.flatMap(
          sql<Row>`SELECT ${columns} FROM reseller_customer c ${accounts}
            WHERE c.reseller_id = ${resellerId} AND c.user_id = ${userId} ORDER BY m.public_name COLLATE "C"`,
          statementOf("customer")
        ).pipe(sqlErrorsAreDefects),

      ofKeyOwner: (resellerId, keyId) =>
        Effect.flatMap(
          sql<Row>`SELECT ${columns} FROM api_key k JOIN reseller_customer c ON c.user_id = k.user_id ${accounts}
            WHERE k.id = ${keyId} AND c.reseller_id = ${resellerId} ORDER BY m.public_name COLLATE "C"`,
          statementOf("key")
        ).pipe(sqlErrorsAreDefects),

      own: (userId) =>
        Effect.flatMap(
          sql<Row>`SELECT ${columns} FROM (SELECT ${userId}::uuid AS user_id) AS c ${accounts}
            ORDER BY m.public_name COLLATE "C"`,
          statementOf("customer")
        ).pipe(sqlErrorsAreDefects, Effect.orDie)
    }
  })
)

const statementOf =
  (what: "customer" | "key") =>
  (rows: ReadonlyArray<Row>): Effect.Effect<BalancesStatement, NotFound> => {
    const [first] = rows
    if (first === undefined) return new NotFound({ what })
    const accounts = rows.filter((row): row is CustomerRow & BalanceRow => row.id !== null)
    return Effect.succeed({ userId: first.user_id, balances: toBalances(accounts), asOf: first.as_of })
  }

export interface BalanceRow extends AccountRow {
  /** Public name of the plan's model; null for a pay-as-you-go account. */
  readonly public_name: string | null
}

/** Returns the balances of one user. Plans keep the order of the rows. */
export const toBalances = (rows: ReadonlyArray<BalanceRow>): CustomerBalances => {
  const payg = rows.find((row) => row.public_name === null)
  return {
    paygPico: payg === undefined ? zero : remaining(toAccount(payg, UsdPico)),
    plans: rows.flatMap((row) => (row.public_name === null ? [] : [tokenPlan(row.public_name, toAccount(row, Tokens))]))
  }
}
