/**
 * Locks the holds, accounts and limited keys that the decisions of a transaction need. The locks last until the
 * transaction ends.
 *
 * There are two modes. In the first mode, the transaction locks all rows, and waits for rows that another session has
 * locked. In the second mode, the transaction does not wait: it locks the free rows (rows that no other session has
 * locked) and skips the users of the other rows.
 *
 * Every transaction locks holds, then accounts, then limited keys, and the rows of each table in the order of their
 * ids, so that two transactions do not deadlock. Only `withMissingKeys` can lock a key after a key with a higher id. In
 * the first mode, the lock timeout ends a deadlock of such transactions, and the transaction is repeated in the second
 * mode. In the second mode, a transaction never waits for these locks.
 */
import { ModelId } from "@tollgate/domain/catalog/Model"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { type Account, AccountId } from "@tollgate/domain/ledger/Account"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { NO_USERS, partition } from "./Batch.ts"
import { type CountedKeyRows, type FreeKeys, lockFreeKeys, lockKeys } from "./CountedKeys.ts"
import type { Query, Rows, Statement } from "./DedicatedConnection.ts"
import { lockFreeHolds, lockHolds } from "./HoldRows.ts"
import { countedKeysOf, type LedgerWork, ledgerWork, ownersOf } from "./LedgerWork.ts"
import { type MutableUserBalances, type Owner, type UserBalances, WorkingBalances } from "./WorkingBalances.ts"

export interface LockedRows {
  readonly holds: ReadonlyMap<RequestId, Hold>
  /** The balances of all users that are not contended. */
  readonly accounts: WorkingBalances
  readonly keys: CountedKeyRows
  /** Users that the transaction skips, because another session has locked one of their rows. */
  readonly contended: ReadonlySet<UserId>
}

export interface LockMode {
  /** Locks the rows that the work needs. Both modes send all their statements in one round trip. */
  readonly lockRows: (query: Query, work: LedgerWork) => Promise<LockedRows>
  readonly lockMissingKeys: (query: Query, keyIds: ReadonlyArray<ApiKeyId>) => Promise<FreeKeys>
}

const lockAllRows: LockMode["lockRows"] = async (query, work) => {
  const [holds, accounts, keys] = await Promise.all([
    lockHolds(query, requestsOf(work)),
    lockAccounts(query, ownersOf(work)),
    lockKeys(query, countedKeysOf(work))
  ])
  return { holds, accounts, keys, contended: NO_USERS }
}

const lockFreeRows: LockMode["lockRows"] = async (query, work) => {
  const [holds, accounts, keys] = await Promise.all([
    lockFreeHolds(query, requestsOf(work)),
    lockFreeAccounts(query, ownersOf(work)),
    lockFreeKeys(query, countedKeysOf(work))
  ])
  const contended = new Set([...holds.contended, ...accounts.contended, ...keys.contended])
  const balances = new WorkingBalances(accounts.balances).without(contended)
  return { holds: holds.free, accounts: balances, keys: keys.keys, contended }
}

export const allRows: LockMode = {
  lockRows: lockAllRows,
  lockMissingKeys: async (query, keyIds) => ({ keys: await lockKeys(query, keyIds), contended: [] })
}

export const freeRows: LockMode = { lockRows: lockFreeRows, lockMissingKeys: lockFreeKeys }

/**
 * Locks the limited keys that are not locked yet, such as a key whose limits were set after its request was
 * authenticated. Locks no key for the requests of contended users, because the transaction skips these requests.
 * `valid` contains the valid keys of the admissions, and whether each key is limited.
 */
export const withMissingKeys = async (
  query: Query,
  work: LedgerWork,
  { accounts, contended, holds, keys }: LockedRows,
  valid: ReadonlyMap<ApiKeyId, boolean>,
  { lockMissingKeys }: LockMode
): Promise<LockedRows> => {
  const { others } = partition(ledgerWork, work, contended)
  const needed = [
    ...countedKeysOf(others, (requestId) => holds.get(requestId)),
    ...others.admissions.map(({ admission }) => admission.principal.keyId).filter((keyId) => valid.get(keyId))
  ]
  const missing = new Set(needed.filter((keyId) => !keys.rows.has(keyId)))
  if (missing.size === 0) return { accounts, contended, holds, keys }
  const found = await lockMissingKeys(query, [...missing])
  return {
    holds,
    accounts: accounts.without(new Set(found.contended)),
    keys: {
      rows: new Map([...keys.rows, ...found.keys.rows]),
      nowMillis: Math.max(keys.nowMillis, found.keys.nowMillis)
    },
    contended: new Set([...contended, ...found.contended])
  }
}

/** Returns the requests whose holds the transaction deletes or grows. */
const requestsOf = ({ settlements, extensions }: LedgerWork): ReadonlyArray<RequestId> =>
  [...settlements, ...extensions].map(({ request }) => request.admission.requestId)

/**
 * Locks the accounts that can pay for the requests of these owners. Waits for accounts that another session has locked.
 */
export const lockAccounts = async (query: Query, owners: ReadonlyArray<Owner>): Promise<WorkingBalances> =>
  new WorkingBalances(balancesOf(owners, await query(LOCK, parametersOf(owners))))

/**
 * Locks the accounts that can pay for the requests of these owners, and skips the accounts that another session has
 * locked. The user of a skipped account is contended, and `balances` is incomplete for this user.
 */
export const lockFreeAccounts = async (
  query: Query,
  owners: ReadonlyArray<Owner>
): Promise<{ readonly balances: ReadonlyMap<UserId, UserBalances>; readonly contended: ReadonlyArray<UserId> }> => {
  const parameters = parametersOf(owners)
  const [locked, all] = await Promise.all([query(LOCK_FREE, parameters), query(READ_USERS, parameters)])
  const free = new Set(locked.map(([id]) => id))
  const rows = all as unknown as ReadonlyArray<[id: string, userId: UserId]>
  return {
    balances: balancesOf(owners, locked),
    contended: rows.filter(([id]) => !free.has(id)).map(([, userId]) => userId)
  }
}

const parametersOf = (owners: ReadonlyArray<Owner>): ReadonlyArray<unknown> => {
  const pairs = [...new Map(owners.map((owner) => [`${owner.userId} ${owner.modelId}`, owner])).values()]
  return [pairs.map(({ userId }) => userId), pairs.map(({ modelId }) => modelId)]
}

const balancesOf = (owners: ReadonlyArray<Owner>, rows: Rows): Map<UserId, MutableUserBalances> => {
  const balances = new Map<UserId, MutableUserBalances>()
  for (const { userId, modelId } of owners) {
    const user = balances.get(userId)
    if (user === undefined) balances.set(userId, { payg: undefined, plans: new Map([[modelId, undefined]]) })
    else user.plans.set(modelId, undefined)
  }
  for (const row of rows) {
    const [id, userId, modelId, credits, debits, pending] = row as AccountRow
    const user = balances.get(userId)
    if (user === undefined) continue
    if (modelId === null) user.payg = account(UsdPico, id, credits, debits, pending)
    else user.plans.set(ModelId(modelId), account(Tokens, id, credits, debits, pending))
  }
  return balances
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

// Selects only the plans for these models, because a lock on another plan of the user must not delay these requests.
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
