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
import type { Ask, Rows, Statement } from "./DedicatedConnection.ts"
import { type OpenStanding, type Owner, type Standing, WorkingBalances } from "./WorkingBalances.ts"

/** Locks the accounts that may pay for what these users ask of these models, once whoever has one gives it back. */
export const lockAccounts = async (ask: Ask, owners: ReadonlyArray<Owner>): Promise<WorkingBalances> =>
  new WorkingBalances(standingsOf(owners, await ask(LOCK, parametersOf(owners))))

/** Locks those of them that are free, without waiting; whose are not is busy, and how they stand is not known. */
export const lockFreeAccounts = async (
  ask: Ask,
  owners: ReadonlyArray<Owner>
): Promise<{ readonly standings: ReadonlyMap<UserId, Standing>; readonly busy: ReadonlyArray<UserId> }> => {
  const parameters = parametersOf(owners)
  const [locked, all] = await Promise.all([ask(LOCK_FREE, parameters), ask(READ_USERS, parameters)])
  const free = new Set(locked.map(([id]) => id))
  const rows = all as unknown as ReadonlyArray<[id: string, userId: UserId]>
  return {
    standings: standingsOf(owners, locked),
    busy: rows.filter(([id]) => !free.has(id)).map(([, userId]) => userId)
  }
}

const parametersOf = (owners: ReadonlyArray<Owner>): ReadonlyArray<unknown> => {
  const pairs = [...new Map(owners.map((owner) => [`${owner.userId} ${owner.modelId}`, owner])).values()]
  return [pairs.map(({ userId }) => userId), pairs.map(({ modelId }) => modelId)]
}

const standingsOf = (owners: ReadonlyArray<Owner>, rows: Rows): Map<UserId, OpenStanding> => {
  const standings = new Map<UserId, OpenStanding>()
  for (const { userId, modelId } of owners) {
    const standing = standings.get(userId)
    if (standing === undefined) standings.set(userId, { payg: undefined, plans: new Map([[modelId, undefined]]) })
    else standing.plans.set(modelId, undefined)
  }
  for (const row of rows) {
    const [id, userId, modelId, credits, debits, pending] = row as AccountRow
    const standing = standings.get(userId)
    if (standing === undefined) continue
    if (modelId === null) standing.payg = account(UsdPico, id, credits, debits, pending)
    else standing.plans.set(ModelId(modelId), account(Tokens, id, credits, debits, pending))
  }
  return standings
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

// Only the plans that are asked for: another one may be in somebody's hand for long, and is none of their business.
const WANTED = `
    WHERE (kind = 'payg' AND user_id = ANY ($1::uuid[]))
      OR (kind = 'plan' AND user_id = ANY ($1::uuid[]) AND model_id = ANY ($2::uuid[])
        AND (user_id, model_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[])))`

const locking = (name: string, how: string): Statement => ({
  name,
  text: `
    SELECT id, user_id, model_id, credits_posted, debits_posted, debits_pending FROM account ${WANTED}
    ORDER BY id FOR NO KEY UPDATE ${how}`
})

const LOCK = locking("lock_accounts", "")
const LOCK_FREE = locking("lock_free_accounts", "SKIP LOCKED")
const READ_USERS: Statement = { name: "read_account_users", text: `SELECT id, user_id FROM account ${WANTED}` }
