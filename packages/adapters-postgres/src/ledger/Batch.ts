/**
 * Requests that share a transaction, and who waits for what becomes of them.
 */
import type { Admission, Measured, Settled, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import * as Charge from "@tollgate/domain/inference/Charge"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type * as Exit from "effect/Exit"
import type { AdmissionEntry, LedgerOutcome, LedgerWork, SettlingEntry } from "./LedgerWork.ts"

export type Admit = Exit.Exit<void, InsufficientBalance | InvalidApiKey | Overloaded>
export type Settle = Exit.Exit<Settled | undefined>

export interface WaitingAdmission extends AdmissionEntry {
  maybeCommitted: boolean
  readonly since: number
  /** Absent once it was answered. */
  answer: ((admit: Admit) => void) | undefined
}

export interface WaitingSettling extends SettlingEntry {
  maybeCommitted: Settled | undefined
  readonly answer: ((settle: Settle) => void) | undefined
}

export interface Batch extends LedgerWork {
  readonly settlings: ReadonlyArray<WaitingSettling>
  readonly admissions: ReadonlyArray<WaitingAdmission>
}

export const EMPTY: Batch = { settlings: [], admissions: [] }

export const size = ({ settlings, admissions }: Batch): number => settlings.length + admissions.length

export const halves = ({ settlings, admissions }: Batch): ReadonlyArray<Batch> => {
  if (settlings.length > 0 && admissions.length > 0) {
    return [
      { settlings, admissions: [] },
      { settlings: [], admissions }
    ]
  }
  const s = Math.floor(settlings.length / 2)
  const a = Math.floor(admissions.length / 2)
  return [
    { settlings: settlings.slice(0, s), admissions: admissions.slice(0, a) },
    { settlings: settlings.slice(s), admissions: admissions.slice(a) }
  ]
}

/** The first answer counts; whether this was it. */
export const reply = (waiting: WaitingAdmission, admit: Admit): boolean => {
  const { answer } = waiting
  waiting.answer = undefined
  answer?.(admit)
  return answer !== undefined
}

const NOT_SERVED: Measured = { ending: "failed", charge: Charge.nothing, ttftMillis: undefined, durationMillis: 0 }

/** Gives back what was held for a request that nobody will send anywhere. */
export const release = (admission: Admission): SettlementRequest => ({ admission, measure: () => NOT_SERVED })

/** Takes down what the batch has come to if its commit was carried out, which nobody knows. */
export const doubted = ({ settlings, admissions }: Batch, { settled, admitted }: LedgerOutcome): void => {
  for (const [i, waiting] of settlings.entries()) waiting.maybeCommitted = settled[i]
  for (const [i, waiting] of admissions.entries()) waiting.maybeCommitted = admitted[i]?._tag === "Right"
}

/** For another attempt: an admission that was refused in the meantime is not made, and given back if it has been. */
export const stillWanted = ({ settlings, admissions }: Batch): Batch => {
  const refused = admissions.filter(({ answer }) => answer === undefined)
  if (refused.length === 0) return { settlings, admissions }
  const released = refused
    .filter(({ maybeCommitted }) => maybeCommitted)
    .map(({ admission }) => ({ settling: release(admission), maybeCommitted: undefined, answer: undefined }))
  return { settlings: [...settlings, ...released], admissions: admissions.filter(({ answer }) => answer !== undefined) }
}
