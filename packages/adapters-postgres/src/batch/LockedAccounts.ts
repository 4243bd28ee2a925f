/**
 * Accounts read from the database and locked until the transaction ends.
 *
 * Every transaction locks its accounts in the order of their ids, and holds before accounts, so that no two of them
 * wait for each other.
 */
import { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import { type Account, AccountId } from "@tollgate/domain/ledger/Account"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Ask, Statement } from "./DedicatedConnection.ts"
import { type OpenStanding, type Owner, RunningAccounts } from "./RunningAccounts.ts"

/** Locks the accounts that may pay for what these users ask of these models. */
export const lockAccounts = async (ask: Ask, owners: ReadonlyArray<Owner>): Promise<RunningAccounts> => {
  const users = new Set(owners.map(({ userId }) => userId))
  const models = new Set(owners.map(({ modelId }) => modelId))
  const standings = new Map<UserId, OpenStanding>()
  for (const userId of users) standings.set(userId, { payg: undefined, plans: new Map() })
  for (const { userId, modelId } of owners) standings.get(userId)?.plans.set(modelId, undefined)
  for (const row of await ask(LOCK, [[...users], [...models]])) {
    const [id, userId, modelId, credits, debits, pending] = row as AccountRow
    const standing = standings.get(userId)
    if (standing === undefined) continue
    if (modelId === null) standing.payg = account(UsdPico, id, credits, debits, pending)
    else standing.plans.set(ModelId(modelId), account(Tokens, id, credits, debits, pending))
  }
  return new RunningAccounts(standings)
}

type AccountRow = readonly [
  id: string,
  userId: UserId,
  modelId: string | null,
  credits: bigint,
  debits: bigint,
  pending: bigint
]

const account = <Unit extends bigint>(
  unit: (amount: bigint) => Unit,
  id: string,
  credits: bigint,
  debits: bigint,
  pending: bigint
): Account<Unit> => ({
  id: AccountId(id),
  creditsPosted: unit(credits),
  debitsPosted: unit(debits),
  debitsPending: unit(pending)
})

// A plan of one of the users for another's model may be locked needlessly; that costs less than looking for pairs.
const LOCK: Statement = {
  name: "lock_accounts",
  text: `
    SELECT id, user_id, model_id, credits_posted, debits_posted, debits_pending FROM account
    WHERE (kind = 'payg' AND user_id = ANY ($1::uuid[]))
      OR (kind = 'plan' AND user_id = ANY ($1::uuid[]) AND model_id = ANY ($2::uuid[]))
    ORDER BY id FOR NO KEY UPDATE`
}
