/**
 * Defines the requests that share a transaction, and the callbacks that receive their results.
 *
 * The types are generic over two kinds of work: requests to text and embedding models share transactions, and every
 * image request has its own transaction. `A` is an admission request, `S` a settlement request, `R` a settlement
 * result, and `E` a refusal.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type * as Either from "effect/Either"
import type * as Exit from "effect/Exit"

export interface HasAdmission {
  readonly admission: Admission
}

export interface WorkKind<A, S> {
  readonly admissionOf: (request: A) => Admission
  /** Returns the settlement that releases a hold without a charge, because the request was not sent to a provider. */
  readonly release: (request: A) => S
}

export interface AdmissionEntry<A> {
  readonly admission: A
  /** Whether an earlier attempt, whose commit outcome is unknown, may have created the hold. */
  readonly maybeCommitted: boolean
}

export interface SettlementEntry<S, R> {
  readonly request: S
  /** Result of an earlier attempt whose commit outcome is unknown; undefined when there was no such attempt. */
  readonly maybeCommitted: R | undefined
}

export interface Work<A, S, R> {
  readonly settlements: ReadonlyArray<SettlementEntry<S, R>>
  readonly admissions: ReadonlyArray<AdmissionEntry<A>>
}

/** `held`: the hold exists. `gone`: an earlier attempt created the hold, and a settlement has deleted it since. */
export type Admitted<E> = Either.Either<"held" | "gone", E>

/** Results of a transaction, in the order of its requests. Requests of contended users have no result. */
export interface Outcome<R, E> {
  /** Users with rows that another session has locked. The transaction skipped their requests. */
  readonly contended: ReadonlySet<UserId>
  readonly settled: ReadonlyArray<R | undefined>
  readonly admitted: ReadonlyArray<Admitted<E>>
}

export const NO_USERS: ReadonlySet<UserId> = new Set()

export type AdmissionResult<E> = Exit.Exit<void, E | Overloaded>
export type SettlementResult<R> = Exit.Exit<R | undefined>

export interface WaitingAdmission<A, E> extends AdmissionEntry<A> {
  maybeCommitted: boolean
  readonly since: number
  /** Undefined after the callback was called. */
  callback: ((result: AdmissionResult<E>) => void) | undefined
}

export interface WaitingSettlement<S, R> extends SettlementEntry<S, R> {
  maybeCommitted: R | undefined
  readonly callback: ((result: SettlementResult<R>) => void) | undefined
}

export interface Batch<A, S, R, E> extends Work<A, S, R> {
  readonly settlements: ReadonlyArray<WaitingSettlement<S, R>>
  readonly admissions: ReadonlyArray<WaitingAdmission<A, E>>
}

export const EMPTY = { settlements: [], admissions: [] } as const

export const size = ({ settlements, admissions }: Work<unknown, unknown, unknown>): number =>
  settlements.length + admissions.length

export const userOf = <A, S extends HasAdmission>(
  { admissionOf }: WorkKind<A, S>,
  entry: AdmissionEntry<A> | SettlementEntry<S, unknown>
): UserId => ("request" in entry ? entry.request.admission : admissionOf(entry.admission)).principal.userId

/** Splits work into the requests of these users and the other requests. */
export const partition = <
  A,
  S extends HasAdmission,
  AE extends AdmissionEntry<A>,
  SE extends SettlementEntry<S, unknown>
>(
  kind: WorkKind<A, S>,
  work: { readonly settlements: ReadonlyArray<SE>; readonly admissions: ReadonlyArray<AE> },
  users: ReadonlySet<UserId>
) => {
  if (users.size === 0) return { theirs: { settlements: [], admissions: [] }, others: work }
  const isTheirs = (entry: AE | SE) => users.has(userOf(kind, entry))
  const isOthers = (entry: AE | SE) => !isTheirs(entry)
  return {
    theirs: { settlements: work.settlements.filter(isTheirs), admissions: work.admissions.filter(isTheirs) },
    others: { settlements: work.settlements.filter(isOthers), admissions: work.admissions.filter(isOthers) }
  }
}

/** Splits a batch that the database rejects into settlements and admissions. A batch of only one kind is halved. */
export const halves = <A, S, R, E>({
  settlements,
  admissions
}: Batch<A, S, R, E>): ReadonlyArray<Batch<A, S, R, E>> => {
  if (settlements.length > 0 && admissions.length > 0) {
    return [
      { settlements, admissions: [] },
      { settlements: [], admissions }
    ]
  }
  const s = Math.floor(settlements.length / 2)
  const a = Math.floor(admissions.length / 2)
  return [
    { settlements: settlements.slice(0, s), admissions: admissions.slice(0, a) },
    { settlements: settlements.slice(s), admissions: admissions.slice(a) }
  ]
}

/** Passes the first result to the callback and ignores later results. Returns whether this result was the first. */
export const reply = <A, E>(waiting: WaitingAdmission<A, E>, result: AdmissionResult<E>): boolean => {
  const { callback } = waiting
  waiting.callback = undefined
  callback?.(result)
  return callback !== undefined
}

/** Records the result that each request has if the commit succeeded. Used when the commit outcome is unknown. */
export const recordUnknownCommit = <A, S, R, E>(
  { settlements, admissions }: Batch<A, S, R, E>,
  { settled, admitted }: Outcome<R, E>
): void => {
  for (const [i, waiting] of settlements.entries()) waiting.maybeCommitted = settled[i]
  for (const [i, waiting] of admissions.entries()) waiting.maybeCommitted = admitted[i]?._tag === "Right"
}

/**
 * Returns the batch for the next attempt, without the admissions that were refused since the last attempt. When an
 * earlier attempt may have created the hold of a refused admission, the batch contains a settlement that releases the
 * hold.
 */
export const withoutRefused = <A, S, R, E>(
  { release }: WorkKind<A, S>,
  { settlements, admissions }: Batch<A, S, R, E>
): Batch<A, S, R, E> => {
  const refused = admissions.filter(({ callback }) => callback === undefined)
  if (refused.length === 0) return { settlements, admissions }
  const released = refused
    .filter(({ maybeCommitted }) => maybeCommitted)
    .map(({ admission }) => ({ request: release(admission), maybeCommitted: undefined, callback: undefined }))
  return {
    settlements: [...settlements, ...released],
    admissions: admissions.filter(({ callback }) => callback !== undefined)
  }
}
