/**
 * Defines the requests that share a transaction, and the callbacks that receive their results.
 *
 * The types are generic over two kinds of work: requests to text and embedding models share transactions, and every
 * image request has its own transaction. `WorkTypes` lists the types in which the two kinds differ.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { QueueEvent } from "./QueueEvent.ts"

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
  /** Whether an earlier attempt, whose commit outcome is unknown, may have created the hold. */
  readonly maybeCommitted: boolean
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

/** `gone`: an earlier attempt created the hold, and a settlement has deleted the hold since. */
export type Admitted<T extends WorkTypes> = Either.Either<T["held"] | "gone", T["refusal"]>
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

/** A waiting request that is refused at its deadline. */
export interface Refusable<Result> {
  readonly since: number
  /** Undefined after the callback was called. */
  callback: ((result: Result) => void) | undefined
}

export interface WaitingAdmission<T extends WorkTypes> extends AdmissionEntry<T>, Refusable<AdmissionResult<T>> {
  maybeCommitted: boolean
}

export interface WaitingExtension<T extends WorkTypes> extends ExtensionEntry<T>, Refusable<ExtensionResult> {}

export interface WaitingSettlement<T extends WorkTypes> extends SettlementEntry<T> {
  maybeCommitted: T["settled"] | undefined
  readonly callback: ((result: SettlementResult<T>) => void) | undefined
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

/** Passes the first result to the callback and ignores later results. Returns whether this result was the first. */
export const reply = <Result>(waiting: Refusable<Result>, result: Result): boolean => {
  const { callback } = waiting
  waiting.callback = undefined
  callback?.(result)
  return callback !== undefined
}

/** Passes the first result to the callback, if there is one, and ignores later results. */
export const endSettlement = <T extends WorkTypes>(
  waiting: WaitingSettlement<T>,
  result: SettlementResult<T>
): void => {
  if (waiting.isEnded) return
  waiting.isEnded = true
  waiting.callback?.(result)
}

/** Returns whether the callback was not called yet. */
export const isWaiting = ({ callback }: Refusable<never>): boolean => callback !== undefined

export const OVERLOADED = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
export const STOPPED = Exit.die(new Error("the ledger stopped before the settlement was written"))

/** Refuses all extensions and admissions that began to wait at `late` or earlier. */
export const refuseLate = <T extends WorkTypes>({ extensions, admissions }: Batch<T>, late: number): void => {
  for (const waiting of extensions) if (waiting.since <= late) reply(waiting, OVERLOADED)
  for (const waiting of admissions) if (waiting.since <= late) reply(waiting, OVERLOADED)
}

/**
 * Records the result that each settlement and each admission has if the commit succeeded. Called when the outcome of
 * the commit is unknown.
 */
export const recordUnknownCommit = <T extends WorkTypes>(
  { settlements, admissions }: Batch<T>,
  { settled, admitted }: Outcome<T>
): void => {
  for (const [i, waiting] of settlements.entries()) waiting.maybeCommitted = settled[i]
  for (const [i, waiting] of admissions.entries()) waiting.maybeCommitted = admitted[i]?._tag === "Right"
}

/**
 * Returns the batch for the next attempt, without the admissions and extensions that were refused since the last
 * attempt. When an earlier attempt may have created the hold of a refused admission, the batch contains a settlement
 * that releases the hold. A hold that a refused extension may have grown stays, because its inference request is still
 * open.
 */
export const withoutRefused = <T extends WorkTypes>({ release }: WorkKind<T>, batch: Batch<T>): Batch<T> => {
  const { settlements, extensions, admissions } = batch
  if (extensions.every(isWaiting) && admissions.every(isWaiting)) return batch
  const released = admissions
    .filter((waiting) => !isWaiting(waiting) && waiting.maybeCommitted)
    .map(({ admission }) => ({
      request: release(admission),
      maybeCommitted: undefined,
      callback: undefined,
      isEnded: false
    }))
  return {
    settlements: [...settlements, ...released],
    extensions: extensions.filter(isWaiting),
    admissions: admissions.filter(isWaiting)
  }
}

/** Fails and reports all requests of a batch that the database rejects. */
export const reject = <T extends WorkTypes>(
  { admissionOf }: WorkKind<T>,
  { settlements, extensions, admissions }: Batch<T>,
  error: unknown,
  report: (event: QueueEvent) => void
): void => {
  for (const waiting of settlements) {
    report({ _tag: "SettlementRejected", admission: waiting.request.admission, error })
    endSettlement(waiting, Exit.die(error))
  }
  for (const waiting of extensions) {
    report({ _tag: "ExtensionRejected", admission: waiting.request.admission, error })
    reply(waiting, Exit.die(error))
  }
  for (const waiting of admissions) {
    report({ _tag: "AdmissionRejected", admission: admissionOf(waiting.admission), error })
    reply(waiting, Exit.die(error))
  }
}

/**
 * Calls the callbacks. A callback can queue a request, such as the settlement of a response that was complete before
 * its hold was committed. The next batch is collected afterwards, so it can contain this request. Calls `release` with
 * each admission whose caller was refused before the commit, because this caller never settles the hold.
 */
export const complete = <T extends WorkTypes>(
  { settlements, extensions, admissions }: Batch<T>,
  { settled, extended, admitted }: Outcome<T>,
  release: (admission: T["admission"]) => void
): void => {
  for (const [i, waiting] of settlements.entries()) endSettlement(waiting, Exit.succeed(settled[i]))
  // If the extension was already refused, nothing has to be undone: the hold has grown, and the settlement of the
  // inference request releases it.
  for (const [i, waiting] of extensions.entries()) reply(waiting, Exit.succeed(extended[i]))
  for (const [i, waiting] of admissions.entries()) {
    const outcome = admitted[i]
    if (outcome === undefined) continue
    if (outcome._tag === "Left") reply(waiting, Exit.fail(outcome.left))
    else if (outcome.right === "gone") reply(waiting, OVERLOADED)
    else if (!reply(waiting, Exit.succeed(outcome.right))) release(waiting.admission)
  }
}
