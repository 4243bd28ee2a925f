/**
 * Defines the events that a group commit queue reports to the operator, and writes them to the log.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { describe } from "../client/SqlErrorClass.ts"

export type QueueEvent =
  | { readonly _tag: "DatabaseUnavailable"; readonly error: unknown }
  | { readonly _tag: "DatabaseRecovered"; readonly afterMillis: number }
  | { readonly _tag: "RowsLocked"; readonly userIds: ReadonlyArray<UserId> }
  | { readonly _tag: "AdmissionRejected"; readonly admission: Admission; readonly error: unknown }
  | { readonly _tag: "ExtensionRejected"; readonly admission: Admission; readonly error: unknown }
  | { readonly _tag: "SettlementRejected"; readonly admission: Admission; readonly error: unknown }
  | { readonly _tag: "CallbackFailed"; readonly admission: Admission; readonly error: unknown }

/**
 * Returns a callback that reports an exception and does not throw it. An exception would stop the queue, and the other
 * requests of the transaction would get no results.
 */
export const guarded =
  <Result>(
    callback: (result: Result) => void,
    admission: Admission,
    report: (event: QueueEvent) => void
  ): ((result: Result) => void) =>
  (result) => {
    try {
      callback(result)
    } catch (error) {
      report({ _tag: "CallbackFailed", admission, error })
    }
  }

export const logged =
  (queue: "inference" | "images") =>
  (event: QueueEvent): Effect.Effect<void> =>
    Effect.annotateLogs(lineOf(event), { queue })

const lineOf = (event: QueueEvent): Effect.Effect<void> => {
  switch (event._tag) {
    case "DatabaseUnavailable":
      return Effect.logWarning(`the database is unavailable; ledger transactions are retried: ${describe(event.error)}`)
    case "DatabaseRecovered":
      return Effect.logInfo(`the database is available again after ${event.afterMillis} ms`)
    case "RowsLocked":
      return Effect.logWarning("ledger rows are locked by another session; requests of these users are delayed").pipe(
        Effect.annotateLogs({ user_ids: event.userIds })
      )
    case "AdmissionRejected":
      return Effect.logError(`the database rejected an admission: ${describe(event.error)}`).pipe(
        Effect.annotateLogs({ request_id: event.admission.requestId })
      )
    case "ExtensionRejected":
      return Effect.logError(`the database rejected the extension of a hold: ${describe(event.error)}`).pipe(
        Effect.annotateLogs({ request_id: event.admission.requestId })
      )
    case "SettlementRejected":
      return Effect.logError(
        `the database rejected a settlement; the hold of the request stays: ${describe(event.error)}`
      ).pipe(Effect.annotateLogs({ request_id: event.admission.requestId, user_id: event.admission.principal.userId }))
    case "CallbackFailed":
      return Effect.logError("an exception ended the handling of a ledger result", Cause.die(event.error)).pipe(
        Effect.annotateLogs({ request_id: event.admission.requestId })
      )
  }
}
