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
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import * as Charge from "@tollgate/domain/inference/Charge"
import type { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import type { AdmissionEntry, Admitted, Outcome, SettlementEntry, Work, WorkKind, WorkTypes } from "./Batch.ts"
import type { Owner } from "./WorkingBalances.ts"

export interface LedgerTypes extends WorkTypes {
  readonly admission: Admission
  readonly extension: Extension
  readonly settlement: SettlementRequest
  readonly held: Hold
  readonly refusal: InsufficientBalance | InvalidApiKey | KeyBudgetExceeded | KeyRateLimited
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

/**
 * Returns the limited keys that the decisions need: keys that were limited when the request was authenticated, and keys
 * that were limited when their hold was created. `holdOf` returns the known hold of a request.
 */
export const countedKeysOf = (
  { settlements, extensions, admissions }: LedgerWork,
  holdOf: (requestId: RequestId) => Hold | undefined = unknownHold
): ReadonlyArray<ApiKeyId> => {
  const keyIds = new Set<ApiKeyId>()
  for (const { request } of [...settlements, ...extensions]) {
    const { principal, requestId } = request.admission
    if (principal.limits?.counted || holdOf(requestId)?.key !== undefined) keyIds.add(principal.keyId)
  }
  for (const { admission } of admissions) if (admission.principal.limits?.counted) keyIds.add(admission.principal.keyId)
  return [...keyIds]
}

const unknownHold = () => undefined
