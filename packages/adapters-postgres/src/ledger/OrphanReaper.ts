/**
 * Runs one sweep. A sweep settles either the holds of orphaned requests, or the image requests with an expired lease.
 *
 * The sweep settles batch by batch until all rows that are left are skipped, rejected or locked by another session.
 * When the database rejects a batch, the sweep halves the batch size until a batch has one row. That row is reported
 * and excluded. After each success, the size doubles again, up to the maximum.
 *
 * After a conflict with another transaction, the sweep waits and repeats the batch, at most five times in one sweep.
 * When the connection is lost, the sweep fails immediately, because the next sweep selects the rows again.
 */
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import { isConnectionLost, isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"
import type { Decided, Query } from "./DedicatedConnection.ts"

export interface ReapedBatch {
  /** Number of rows that the transaction selected; 0 ends the sweep. */
  readonly taken: number
  /**
   * Selected rows that stay until the next sweep, because another session has locked an account or a limited key of
   * their user.
   */
  readonly skipped: ReadonlyArray<RequestId>
  /** Sum of the write-offs of all settlements in the transaction. */
  readonly writtenOff: UsdPico
}

export interface Reaper {
  readonly maxBatchSize: number
  readonly transact: (work: (query: Query) => Promise<Decided<ReapedBatch>>) => Promise<ReapedBatch>
  /**
   * Decides one batch in one transaction. Calls `onLocked` with the ids of the rows that this transaction has selected
   * and locked.
   */
  readonly reapBatch: (
    query: Query,
    excluded: ReadonlyArray<RequestId>,
    batchSize: number,
    onLocked: (requestIds: ReadonlyArray<RequestId>) => void
  ) => Promise<Decided<ReapedBatch>>
  readonly onRejected: (requestIds: ReadonlyArray<RequestId>, error: unknown) => void
}

const MAX_RETRIES = 5

/** Runs one sweep. Returns the number of settled rows. */
export const reap = async ({ maxBatchSize, onRejected, reapBatch, transact }: Reaper): Promise<number> => {
  const excluded: Array<RequestId> = []
  let settled = 0
  let batchSize = maxBatchSize
  let retries = 0
  for (;;) {
    let locked: ReadonlyArray<RequestId> = []
    try {
      const { skipped, taken } = await transact((query) =>
        reapBatch(query, excluded, batchSize, (requestIds) => {
          locked = requestIds
        })
      )
      if (taken === 0) return settled
      excluded.push(...skipped)
      settled += taken - skipped.length
      batchSize = Math.min(maxBatchSize, batchSize * 2)
    } catch (error) {
      if (isTransient(error) && !isConnectionLost(error) && ++retries <= MAX_RETRIES) {
        await afterBackoff(retries)
        continue
      }
      if (isTransient(error) || locked.length === 0) throw error
      if (locked.length === 1) {
        onRejected(locked, error)
        excluded.push(...locked)
      }
      batchSize = Math.ceil(locked.length / 2)
    }
  }
}
