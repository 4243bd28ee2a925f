/**
 * The accounts of the reseller programme as rows: locked, and written as a decision leaves them.
 *
 * Whoever needs both locks the quota before the plan, and never two quotas.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import { type Account, AccountId, type PlanAccount, type QuotaAccount } from "@tollgate/domain/ledger/Account"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import { nextUuidV7 } from "../client/UuidV7.ts"

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

type Locked<A> = Effect.Effect<A, SqlError, SqlClient.SqlClient>

/** The quota of a reseller, which is made together with it; none where there is no such reseller. */
export const lockQuota = (resellerId: ResellerId): Locked<QuotaAccount | undefined> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<AccountRow>`SELECT id, credits_posted, debits_posted, debits_pending FROM account
      WHERE kind = 'reseller_quota' AND reseller_id = ${resellerId} FOR NO KEY UPDATE`
    return row && toAccount(row, UsdMicro)
  })

export const lockQuotaOf = (resellerId: ResellerId): Locked<QuotaAccount> =>
  Effect.flatMap(lockQuota(resellerId), (quota) =>
    quota === undefined ? Effect.dieMessage("a reseller's quota account is missing") : Effect.succeed(quota)
  )

/** A user's plan for a model, made where there is none yet. */
export const lockPlan = (userId: UserId, modelId: ModelId): Locked<PlanAccount> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO account (id, kind, unit, user_id, model_id)
      VALUES (${yield* nextUuidV7}, 'plan', 'token', ${userId}, ${modelId})
      ON CONFLICT (user_id, model_id) WHERE kind = 'plan' DO NOTHING`
    const [row] = yield* sql<AccountRow>`SELECT id, credits_posted, debits_posted, debits_pending FROM account
      WHERE kind = 'plan' AND user_id = ${userId} AND model_id = ${modelId} FOR NO KEY UPDATE`
    return row === undefined ? yield* Effect.dieMessage("a plan that was just made is missing") : toAccount(row, Tokens)
  })

/** Of an account that is locked. What is set aside belongs to the ledger of inference. */
export const writePosted = ({ id, creditsPosted, debitsPosted }: Account<bigint>): Locked<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE account SET credits_posted = ${creditsPosted}, debits_posted = ${debitsPosted} WHERE id = ${id}`
  })
