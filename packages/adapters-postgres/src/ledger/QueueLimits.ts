/**
 * The limits of a group commit queue, and the transaction that it runs.
 */
import type { Outcome, Work, WorkTypes } from "./Batch.ts"
import type { LockWait } from "./DedicatedConnection.ts"

export interface QueueLimits {
  /**
   * Maximum requests of each type (settlements, extensions, admissions) per transaction. With the value 1, a
   * transaction contains only one request in total, not one of each type.
   */
  readonly batchSize: number
  /**
   * Maximum waiting admissions, and maximum waiting extensions. The requests of all contended users together have two
   * more limits of this size.
   */
  readonly waitingAdmissions: number
  /** Number of unwritten settlements at which admissions are refused. */
  readonly unsettled: number
  /** Time after which a waiting admission or extension is refused, even while the database is unavailable. */
  readonly admissionMillis: number
}

/** Runs one transaction. */
export type RunTransaction<T extends WorkTypes> = (
  work: Work<T>,
  /** Called if the outcome of the commit is unknown, with the results that are valid if the commit succeeded. */
  onUnknownCommit: (outcome: Outcome<T>) => void,
  lockWait: LockWait
) => Promise<Outcome<T>>
