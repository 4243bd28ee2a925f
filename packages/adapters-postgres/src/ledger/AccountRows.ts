/**
 * Locks quota accounts of resellers and plan accounts of customers, writes accounts, and books transfers.
 *
 * When a transaction needs a quota account and a plan account, it locks the quota account first. No transaction locks
 * two quota accounts. Therefore these locks cause no deadlock.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import { type Account, AccountId, type PlanAccount, type QuotaAccount } from "@tollgate/domain/ledger/Account"
import type { Booking } from "@tollgate/domain/ledger/Transfer"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import { nextUuidV7 } from "../client/SqlValues.ts"

export interface AccountRow {
  readonly id: string
  readonly credits_posted: bigint
  readonly debits_posted: bigint
  readonly debits_pending: bigint
}

export const toAccount = <Unit extends bigint>(row: AccountRow, unit: (amount: bigint) => Unit): Account<Unit> => ({
  id: AccountId(row.id),
  creditsPosted: unit(row.credits_posted),
  debitsPosted: unit(row.debits_posted),
  debitsPending: unit(row.debits_pending)
})

/** Statements that run in the caller's transaction. Their locks last until the transaction ends. */
type InTransaction<A> = Effect.Effect<A, SqlError, SqlClient.SqlClient>

/**
 * Locks and returns the quota account of a reseller. Returns undefined if the account does not exist. Then the reseller
 * does not exist either, because both are created together.
 */
export const lockQuota = (resellerId: ResellerId): InTransaction<QuotaAccount | undefined> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<AccountRow>`SELECT id, credits_posted, debits_posted, debits_pending FROM account
      WHERE kind = 'reseller_quota' AND reseller_id = ${resellerId} FOR NO KEY UPDATE`
    return row && toAccount(row, UsdMicro)
  })

export const lockQuotaOf = (resellerId: ResellerId): InTransaction<QuotaAccount> =>
  Effect.flatMap(lockQuota(resellerId), (quota) =>
    quota === undefined ? Effect.dieMessage("a reseller's quota account is missing") : Effect.succeed(quota)
  )

/** Locks and returns a user's plan account for a model. Creates the account if it does not exist. */
export const lockPlan = (userId: UserId, modelId: ModelId): InTransaction<PlanAccount> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO account (id, kind, unit, user_id, model_id)
      VALUES (${yield* nextUuidV7}, 'plan', 'token', ${userId}, ${modelId})
      ON CONFLICT (user_id, model_id) WHERE kind = 'plan' DO NOTHING`
    const [row] = yield* sql<AccountRow>`SELECT id, credits_posted, debits_posted, debits_pending FROM account
      WHERE kind = 'plan' AND user_id = ${userId} AND model_id = ${modelId} FOR NO KEY UPDATE`
    return row === undefined
      ? yield* Effect.dieMessage("a plan account that was just created is missing")
      : toAccount(row, Tokens)
  })

/** Writes the credits and the debits of a locked account. Only `WorkingBalances` writes the pending amount. */
export const writePosted = ({ id, creditsPosted, debitsPosted }: Account<bigint>): InTransaction<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE account SET credits_posted = ${creditsPosted}, debits_posted = ${debitsPosted} WHERE id = ${id}`
  })

/**
 * Books a transfer. A second transfer with the same code and reference is a defect, because it shows that the caller
 * decided from outdated rows.
 */
export const book = (booking: Booking, actor: string): InTransaction<void> =>
  Effect.flatMap(bookOnce(booking, actor), (booked) =>
    booked
      ? Effect.void
      : Effect.dieMessage(`a transfer with the code ${booking.code} and the reference ${booking.ref} is already booked`)
  )

/**
 * Books a transfer unless a transfer with the same code and reference exists, even from a concurrent transaction.
 * Returns whether this call booked the transfer.
 */
export const bookOnce = ({ code, ref, unit, debit, credit, amount }: Booking, actor: string): InTransaction<boolean> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // `ON CONFLICT` has no conflict target, because it is not known which unique constraint a concurrent booking
    // violates first.
    const booked = yield* sql`INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
      VALUES (${yield* nextUuidV7}, ${code}, ${ref}, ${unit}, ${debit}, ${credit}, ${amount}, ${actor})
      ON CONFLICT DO NOTHING RETURNING id`
    return booked.length > 0
  })
