/**
 * Defines the requests that share a transaction, and their results.
 *
 * The types are generic over two kinds of work: requests to text and embedding models share transactions, and every
 * image request has its own transaction. `WorkTypes` lists the types in which the two kinds differ.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import type * as Either from "effect/Either"
import type * as Exit from "effect/Exit"

export interface HasAdmission {
  readonly admission: Admission
}

export interface WorkTypes {
  readonly admission: unknown
  /** Request to grow a hold; `never` if holds of this kind of work do not grow. */
  readonly extension: HasAdmission
  readonly settlement: HasAdmission
  /** Result of an admission that created a hold. */
  readonly held: unknown
  /** Error of an admission that was refused. */
  readonly refusal: unknown
  readonly settled: unknown
}

export interface WorkKind<T extends WorkTypes> {
  readonly admissionOf: (request: T["admission"]) => Admission
  /** Returns the settlement that releases a hold without a charge, because the caller was refused at the deadline. */
  readonly release: (request: T["admission"]) => T["settlement"]
}

export interface AdmissionEntry<T extends WorkTypes> {
  readonly admission: T["admission"]
  /** Whether an earlier attempt, whose commit outcome is unknown, may have created the hold or settled the request. */
  readonly maybeCommitted: boolean
  /**
   * The settlement that the same transaction writes, if the response arrived while the admission was deferred. The
   * request then gets no hold.
   */
  readonly settlement: SettlementEntry<T> | undefined
}

/**
 * If the outcome of a commit is unknown, an extension is decided again. An extension grows the hold to a total, so a
 * second decision changes nothing.
 */
export interface ExtensionEntry<T extends WorkTypes> {
  readonly request: T["extension"]
}

export interface SettlementEntry<T extends WorkTypes> {
  readonly request: T["settlement"]
  /** Result of an earlier attempt whose commit outcome is unknown; undefined when there was no such attempt. */
  readonly maybeCommitted: T["settled"] | undefined
}

/** Requests of the three types, in the order in which a transaction decides them. */
export interface Requests<Settlement, Extension, Admission> {
  readonly settlements: ReadonlyArray<Settlement>
  readonly extensions: ReadonlyArray<Extension>
  readonly admissions: ReadonlyArray<Admission>
}

export type Work<T extends WorkTypes> = Requests<SettlementEntry<T>, ExtensionEntry<T>, AdmissionEntry<T>>

/** The result of an admission whose transaction also wrote the settlement. */
export class SettledAtOnce<Settled> {
  readonly settled: Settled
  constructor(settled: Settled) {
    this.settled = settled
  }
}

/** `gone`: an earlier attempt created the hold, and a settlement has deleted the hold since. */
export type Admitted<T extends WorkTypes> = Either.Either<
  T["held"] | SettledAtOnce<T["settled"]> | "gone",
  T["refusal"]
>
/** The hold after the extension; undefined when the request is settled. */
export type Extended = Hold | undefined

/** Results of a transaction, in the order of its requests without those of contended users. */
export interface Outcome<T extends WorkTypes> {
  /** Users with rows that another session has locked. The transaction skipped their requests. */
  readonly contended: ReadonlySet<UserId>
  readonly settled: ReadonlyArray<T["settled"] | undefined>
  readonly extended: ReadonlyArray<Extended>
  readonly admitted: ReadonlyArray<Admitted<T>>
}

export const NO_USERS: ReadonlySet<UserId> = new Set()

export type AdmissionResult<T extends WorkTypes> = Exit.Exit<T["held"], T["refusal"] | Overloaded>
export type ExtensionResult = Exit.Exit<Extended, Overloaded>
export type SettlementResult<T extends WorkTypes> = Exit.Exit<T["settled"] | undefined>
export type AdmissionCallback<T extends WorkTypes> = (result: AdmissionResult<T>) => void
export type SettlementCallback<T extends WorkTypes> = (result: SettlementResult<T>) => void

/** A waiting request that is refused at its deadline. */
export interface Refusable<Result> {
  readonly since: number
  /** Undefined after the callback was called. */
  callback: ((result: Result) => void) | undefined
}

export interface WaitingAdmission<T extends WorkTypes> extends AdmissionEntry<T>, Refusable<AdmissionResult<T>> {
  maybeCommitted: boolean
  settlement: WaitingSettlement<T> | undefined
}

export interface WaitingExtension<T extends WorkTypes> extends ExtensionEntry<T>, Refusable<ExtensionResult> {}

export interface WaitingSettlement<T extends WorkTypes> extends SettlementEntry<T> {
  maybeCommitted: T["settled"] | undefined
  readonly callback: SettlementCallback<T> | undefined
  /** Whether the settlement was written, was rejected, or was unwritten when the queue stopped. */
  isEnded: boolean
}

export type Batch<T extends WorkTypes> = Requests<WaitingSettlement<T>, WaitingExtension<T>, WaitingAdmission<T>>

export const EMPTY = { settlements: [], extensions: [], admissions: [] } as const

export const size = ({ settlements, extensions, admissions }: Requests<unknown, unknown, unknown>): number =>
  settlements.length + extensions.length + admissions.length

export const userOf = <T extends WorkTypes>(
  { admissionOf }: WorkKind<T>,
  entry: AdmissionEntry<T> | ExtensionEntry<T> | SettlementEntry<T>
): UserId => ("request" in entry ? entry.request.admission : admissionOf(entry.admission)).principal.userId

/** Splits work into the requests of these users and the other requests. */
export const partition = <
  T extends WorkTypes,
  S extends SettlementEntry<T>,
  X extends ExtensionEntry<T>,
  A extends AdmissionEntry<T>
>(
  kind: WorkKind<T>,
  work: Requests<S, X, A>,
  users: ReadonlySet<UserId>
): { readonly theirs: Requests<S, X, A>; readonly others: Requests<S, X, A> } => {
  if (users.size === 0) return { theirs: EMPTY, others: work }
  const isTheirs = (entry: S | X | A) => users.has(userOf(kind, entry))
  const isOthers = (entry: S | X | A) => !isTheirs(entry)
  return { theirs: filtered(work, isTheirs), others: filtered(work, isOthers) }
}

const filtered = <S, X, A>(
  { settlements, extensions, admissions }: Requests<S, X, A>,
  selects: (entry: S | X | A) => boolean
): Requests<S, X, A> => ({
  settlements: settlements.filter(selects),
  extensions: extensions.filter(selects),
  admissions: admissions.filter(selects)
})

/** Splits a batch that the database rejects into its types of requests. A batch of only one type is halved. */
export const halves = <T extends WorkTypes>(batch: Batch<T>): ReadonlyArray<Batch<T>> => {
  const { settlements, extensions, admissions } = batch
  const types: ReadonlyArray<Batch<T>> = [
    { ...EMPTY, settlements },
    { ...EMPTY, extensions },
    { ...EMPTY, admissions }
  ].filter((some) => size(some) > 0)
  if (types.length > 1) return types
  const half = <A>(entries: ReadonlyArray<A>) => Math.floor(entries.length / 2)
  return [
    {
      settlements: settlements.slice(0, half(settlements)),
      extensions: extensions.slice(0, half(extensions)),
      admissions: admissions.slice(0, half(admissions))
    },
    {
      settlements: settlements.slice(half(settlements)),
      extensions: extensions.slice(half(extensions)),
      admissions: admissions.slice(half(admissions))
    }
  ]
}
