/** Decides which tests continuous integration runs again after a failure. */

/**
 * A failure of a rule, of a simulated history or of the ledger is a defect even if it is rare. Other tests also wait
 * for sockets, notifications or the garbage collector, and a busy machine delays them.
 */
const NEVER = /\/test\/(domain|simulation|adapters-postgres\/ledger)\//

/** The tests of the ledger that compare real time with a limit. A busy machine delays them too. */
const TIMED =
  /\/(DedicatedConnection|GroupCommitQueue|Replication|PgInferenceLedger\.(faults|locks|keyLocks))\.test\.ts$/

export const mayRunAgain = (testFile: string): boolean => !NEVER.test(testFile) || TIMED.test(testFile)
