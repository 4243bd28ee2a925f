/**
 * Credits pay-as-you-go balances in Postgres on behalf of an operator.
 *
 * The transaction locks the account row before it reads the transfers, so repeated credits for one user run one after
 * the other. The unique index of the `transfer` table detects an operation id that is repeated for another user.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { decideCredit, type EarlierCredit } from "@tollgate/domain/customer/PaygCredit"
import type { UserId } from "@tollgate/domain/customer/User"
import { AccountId } from "@tollgate/domain/ledger/Account"
import { systemAccounts } from "@tollgate/domain/ledger/Transfer"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { transact } from "../client/Transact.ts"
import { bookOnce } from "../ledger/AccountRows.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { findUser } from "./PgUsers.ts"

interface AccountRow {
  readonly id: string
  readonly credits_posted: bigint
  readonly remaining: bigint
}

export const layer: Layer.Layer<PaygAccounts, never, SqlClient.SqlClient> = Layer.effect(
  PaygAccounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    const lockedAccount = (userId: UserId) =>
      Effect.gen(function* () {
        yield* sql`INSERT INTO account (id, kind, unit, user_id) VALUES (${yield* nextUuidV7}, 'payg', 'usd_pico', ${userId})
          ON CONFLICT (user_id) WHERE kind = 'payg' DO NOTHING`
        const [account] = yield* sql<AccountRow>`SELECT id, credits_posted, credits_posted - debits_posted AS remaining
          FROM account WHERE user_id = ${userId} AND kind = 'payg' FOR NO KEY UPDATE`
        return account ?? (yield* Effect.dieMessage("a user's pay-as-you-go account is missing"))
      })

    const earlierCredit = (operationId: string) =>
      Effect.map(
        sql<{ user_id: string; amount: bigint }>`
          SELECT a.user_id, t.amount FROM transfer t JOIN account a ON a.id = t.credit_account
          WHERE t.code = 'payg_credit' AND t.ref = ${operationId}`,
        ([row]): EarlierCredit | undefined => row && { userId: row.user_id as UserId, amountPico: row.amount }
      )

    return {
      credit: ({ email, amount, operationId, operator }) =>
        Effect.gen(function* () {
          const user = yield* findUser(email)
          const account = yield* lockedAccount(user.id)
          const request = { userId: user.id, amount, operationId }
          const creditsPosted = UsdPico(account.credits_posted)
          const repeated = { userId: user.id, amountUsdMicro: amount, alreadyApplied: true }

          const { creditPico } = yield* decideCredit(request, creditsPosted, yield* earlierCredit(operationId))
          if (creditPico === undefined) return { ...repeated, balancePico: UsdPico(account.remaining) }
          const booking = {
            code: "payg_credit",
            ref: operationId,
            unit: "usd_pico",
            debit: systemAccounts.paygFunding,
            credit: AccountId(account.id),
            amount: creditPico
          } as const
          if (!(yield* bookOnce(booking, operator.actor))) {
            // Another session has booked this operation id for another account since the read, so the credit is decided
            // again.
            yield* decideCredit(request, creditsPosted, yield* earlierCredit(operationId))
            return { ...repeated, balancePico: UsdPico(account.remaining) }
          }
          yield* sql`UPDATE account SET credits_posted = credits_posted + ${creditPico} WHERE id = ${account.id}`
          const detail = { user_id: user.id, email, usd_micro: amount.toString(), operation_id: operationId }
          yield* AuditLog.record({ operator, action: "payg.credit", subject: account.id, detail })
          return { ...repeated, alreadyApplied: false, balancePico: UsdPico(account.remaining + creditPico) }
        }).pipe(transact, withSql)
    }
  })
)
