/**
 * Passes the results of a transaction, and the refusals of requests that wait for too long, to the callbacks of the
 * requests. Decides what the next attempt of a transaction contains.
 */
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import {
  type Admitted,
  type Batch,
  type Outcome,
  type Refusable,
  SettledAtOnce,
  type SettlementResult,
  type WaitingAdmission,
  type WaitingSettlement,
  type WorkKind,
  type WorkTypes
} from "./Batch.ts"
import type { QueueEvent } from "./QueueEvent.ts"

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

/** Passes a result to the callback of the settlement of an admission. The callback of the admission is not called. */
export const endSettledAtOnce = <T extends WorkTypes>(
  waiting: WaitingAdmission<T>,
  result: SettlementResult<T>
): void => {
  waiting.callback = undefined
  if (waiting.settlement !== undefined) endSettlement(waiting.settlement, result)
}

/** Ends all unwritten settlements, because the queue has stopped. Returns their number. */
export const endUnwritten = <T extends WorkTypes>(batches: ReadonlyArray<Batch<T>>): number => {
  const settlements = batches.flatMap((batch) => batch.settlements).filter(({ isEnded }) => !isEnded)
  const admissions = batches.flatMap((batch) => batch.admissions)
  const settledAtOnce = admissions.filter((waiting) => waiting.settlement !== undefined && isWaiting(waiting))
  // A request that was skipped because of a locked row can be in two of the batches.
  const [left, leftAtOnce] = [new Set(settlements), new Set(settledAtOnce)]
  for (const waiting of left) endSettlement(waiting, STOPPED)
  for (const waiting of leftAtOnce) endSettledAtOnce(waiting, STOPPED)
  return left.size + leftAtOnce.size
}

/** Returns whether the callback was not called yet. */
export const isWaiting = ({ callback }: Refusable<never>): boolean => callback !== undefined

export const OVERLOADED = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
export const STOPPED = Exit.die(new Error("the ledger stopped before the settlement was written"))

/**
 * Refuses all extensions and admissions that began to wait at `late` or earlier. An admission with a settlement is not
 * refused while a transaction may write it, because its customer would be charged for a response that the client does
 * not get. `isRunning` states that a transaction with some of these requests runs.
 */
export const refuseLate = <T extends WorkTypes>(
  { extensions, admissions }: Batch<T>,
  late: number,
  isRunning = false
): void => {
  for (const waiting of extensions) if (waiting.since <= late) reply(waiting, OVERLOADED)
  for (const waiting of admissions) {
    const maybeSettled = waiting.settlement !== undefined && (isRunning || waiting.maybeCommitted)
    if (waiting.since <= late && !maybeSettled) reply(waiting, OVERLOADED)
  }
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
  for (const [i, waiting] of admissions.entries()) {
    const outcome = admitted[i]
    waiting.maybeCommitted = outcome?._tag === "Right"
    if (waiting.settlement !== undefined) waiting.settlement.maybeCommitted = settledAtOnce(outcome)
  }
}

/** Returns the settlement that was written with this admission; undefined if there was none. */
const settledAtOnce = <T extends WorkTypes>(outcome: Admitted<T> | undefined): T["settled"] | undefined =>
  outcome?._tag === "Right" && outcome.right instanceof SettledAtOnce ? outcome.right.settled : undefined

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
    else if (outcome.right instanceof SettledAtOnce) endSettledAtOnce(waiting, Exit.succeed(outcome.right.settled))
    else if (!reply(waiting, Exit.succeed(outcome.right))) release(waiting.admission)
  }
}
