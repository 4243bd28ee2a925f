/**
 * Defines the requests of the inference ledger: requests to text and embedding models. Many of these requests share a
 * transaction.
 */
import type { Admission, Measured, Settled, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import * as Charge from "@tollgate/domain/inference/Charge"
import type { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { AdmissionEntry, Admitted, Outcome, SettlementEntry, Work, WorkKind } from "./Batch.ts"
import type { Owner } from "./WorkingBalances.ts"

export type LedgerRefusal = InsufficientBalance | InvalidApiKey
export type LedgerWork = Work<Admission, SettlementRequest, Settled>
export type LedgerOutcome = Outcome<Settled, LedgerRefusal>
export type LedgerAdmitted = Admitted<LedgerRefusal>
export type LedgerAdmission = AdmissionEntry<Admission>
export type LedgerSettlement = SettlementEntry<SettlementRequest, Settled>

const NOT_SERVED: Measured = { ending: "failed", charge: Charge.nothing, ttftMillis: undefined, durationMillis: 0 }

export const ledgerWork: WorkKind<Admission, SettlementRequest> = {
  admissionOf: (admission) => admission,
  release: (admission) => ({ admission, measure: () => NOT_SERVED })
}

export const ownerOf = ({ principal: { userId }, modelId }: Admission): Owner => ({ userId, modelId })

/** Returns the owner of every request. The owners select the balances that the transaction needs. */
export const ownersOf = ({ settlements, admissions }: LedgerWork): ReadonlyArray<Owner> => [
  ...settlements.map(({ request }) => ownerOf(request.admission)),
  ...admissions.map(({ admission }) => ownerOf(admission))
]
