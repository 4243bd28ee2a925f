/**
 * The rows that a transaction of the ledger decides over, locked until it ends, in one of two ways: all of them, waiting
 * for whoever has one; or those that are free, without waiting, and then nothing is done for the users of the others.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/RequestId"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import type { Ask } from "./DedicatedConnection.ts"
import { lockFreeHolds, lockHolds } from "./HoldRows.ts"
import { type LedgerWork, NOBODY, ownersOf } from "./LedgerWork.ts"
import { lockAccounts, lockFreeAccounts } from "./LockedAccounts.ts"
import { WorkingBalances } from "./WorkingBalances.ts"

export interface LockedRows {
  readonly holds: ReadonlyMap<RequestId, Hold>
  /** Without those of busy users. */
  readonly accounts: WorkingBalances
  readonly busy: ReadonlySet<UserId>
}

/** Both send everything at once. */
export type LockRows = (ask: Ask, work: LedgerWork) => Promise<LockedRows>

export const lockAllRows: LockRows = async (ask, work) => {
  const [holds, accounts] = await Promise.all([lockHolds(ask, requestsOf(work)), lockAccounts(ask, ownersOf(work))])
  return { holds, accounts, busy: NOBODY }
}

export const lockFreeRows: LockRows = async (ask, work) => {
  const [holds, accounts] = await Promise.all([
    lockFreeHolds(ask, requestsOf(work)),
    lockFreeAccounts(ask, ownersOf(work))
  ])
  const busy = new Set([...holds.busy, ...accounts.busy])
  const free = [...accounts.standings].filter(([userId]) => !busy.has(userId))
  return { holds: holds.free, accounts: new WorkingBalances(new Map(free)), busy }
}

const requestsOf = ({ settlings }: LedgerWork): ReadonlyArray<RequestId> =>
  settlings.map(({ settling }) => settling.admission.requestId)
