/**
 * What a lane tells its operator.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import * as Effect from "effect/Effect"
import { describe } from "../client/SqlErrorClass.ts"

export type QueueEvent =
  | { readonly _tag: "Troubled"; readonly error: unknown }
  | { readonly _tag: "Recovered"; readonly afterMillis: number }
  | { readonly _tag: "RowsKept"; readonly userIds: ReadonlyArray<UserId> }
  | { readonly _tag: "AdmissionRejected"; readonly admission: Admission; readonly error: unknown }
  | { readonly _tag: "SettlementRejected"; readonly admission: Admission; readonly error: unknown }

export const logged = (event: QueueEvent): Effect.Effect<void> => {
  switch (event._tag) {
    case "Troubled":
      return Effect.logWarning(`the ledger is waiting for the database: ${describe(event.error)}`)
    case "Recovered":
      return Effect.logInfo(`the ledger has its database back after ${event.afterMillis} ms`)
    case "RowsKept":
      return Effect.logWarning("somebody else keeps rows of these users, who have to wait for them").pipe(
        Effect.annotateLogs({ userIds: event.userIds })
      )
    case "AdmissionRejected":
      return Effect.logError(`the database will not take an admission: ${describe(event.error)}`).pipe(
        Effect.annotateLogs({ requestId: event.admission.requestId })
      )
    case "SettlementRejected":
      return Effect.logError(`a request cannot be settled, its hold stays: ${describe(event.error)}`).pipe(
        Effect.annotateLogs({ requestId: event.admission.requestId, userId: event.admission.principal.userId })
      )
  }
}
