/**
 * Defines the admissions, extensions and settlements of requests to text and embedding models. Many of them share a
 * transaction.
 */
import type {
  Admission,
  Extension,
  Measured,
  Settled,
  SettlementRequest
} from "@tollgate/application/ledger/InferenceLedger"
import * as Charge from "@tollgate/domain/inference/Charge"
import type { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { AdmissionEntry, Admitted, Outcome, SettlementEntry, Work, WorkKind, WorkTypes } from "./Batch.ts"
import type { Owner } from "./WorkingBalances.ts"

export interface LedgerTypes extends WorkTypes {
  readonly admission: Admission
  readonly extension: Extension
  readonly settlement: SettlementRequest
  readonly held: Hold
  readonly refusal: InsufficientBalance | InvalidApiKey
  readonly settled: Settled
}

export type LedgerWork = Work<LedgerTypes>
export type LedgerOutcome = Outcome<LedgerTypes>
export type LedgerAdmitted = Admitted<LedgerTypes>
export type LedgerAdmission = AdmissionEntry<LedgerTypes>
export type LedgerSettlement = SettlementEntry<LedgerTypes>

const NOT_SERVED: Measured = { ending: "failed", charge: Charge.nothing, ttftMillis: undefined, durationMillis: 0 }

export const ledgerWork: WorkKind<LedgerTypes> = {
  admissionOf: (admission) => admission,
  release: (admission) => ({ admission, measure: () => NOT_SERVED })
}

export const ownerOf = ({ principal: { userId }, modelId }: Admission): Owner => ({ userId, modelId })

/** Returns the owner of every request. The owners select the balances that the transaction needs. */
export const ownersOf = ({ settlements, extensions, admissions }: LedgerWork): ReadonlyArray<Owner> => [
  ...settlements.map(({ request }) => ownerOf(request.admission)),
  ...extensions.map(({ request }) => ownerOf(request.admission)),
  ...admissions.map(({ admission }) => ownerOf(admission))
]
