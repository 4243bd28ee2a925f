/**
 * What one transaction of the ledger is to do, and what it came to.
 */
import type { Admission, Settled, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import type { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type * as Either from "effect/Either"
import type { Owner } from "./WorkingBalances.ts"

export interface SettlingEntry {
  readonly settling: SettlementRequest
  /** What an attempt came to whose commit nobody knows the outcome of. */
  readonly maybeCommitted: Settled | undefined
}

export interface AdmissionEntry {
  readonly admission: Admission
  /** An attempt may have made the hold; nobody knows the outcome of its commit. */
  readonly maybeCommitted: boolean
}

export interface LedgerWork {
  readonly settlings: ReadonlyArray<SettlingEntry>
  readonly admissions: ReadonlyArray<AdmissionEntry>
}

/** `gone`: an earlier attempt made the hold, and it has been settled since. */
export type Admitted = Either.Either<"held" | "gone", InsufficientBalance | InvalidApiKey>

/** In the order of the work, of which that of busy users is left out. */
export interface LedgerOutcome {
  /** Somebody else has rows of theirs, so nothing of theirs was done. */
  readonly busy: ReadonlySet<UserId>
  readonly settled: ReadonlyArray<Settled | undefined>
  readonly admitted: ReadonlyArray<Admitted>
}

export const ownerOf = ({ principal: { userId }, modelId }: Admission): Owner => ({ userId, modelId })

/** Everybody whose balances the work is decided over. */
export const ownersOf = ({ settlings, admissions }: LedgerWork): ReadonlyArray<Owner> => [
  ...settlings.map(({ settling }) => ownerOf(settling.admission)),
  ...admissions.map(({ admission }) => ownerOf(admission))
]

export const NOBODY: ReadonlySet<UserId> = new Set()

export const userOf = (entry: SettlingEntry | AdmissionEntry): UserId =>
  ("settling" in entry ? entry.settling.admission : entry.admission).principal.userId

/** Its part that is about these users, and the rest. */
export const divided = <S extends SettlingEntry, A extends AdmissionEntry>(
  work: { readonly settlings: ReadonlyArray<S>; readonly admissions: ReadonlyArray<A> },
  users: ReadonlySet<UserId>
) => {
  if (users.size === 0) return { theirs: { settlings: [], admissions: [] }, others: work }
  const isTheirs = (entry: S | A) => users.has(userOf(entry))
  const isOthers = (entry: S | A) => !isTheirs(entry)
  return {
    theirs: { settlings: work.settlings.filter(isTheirs), admissions: work.admissions.filter(isTheirs) },
    others: { settlings: work.settlings.filter(isOthers), admissions: work.admissions.filter(isOthers) }
  }
}
