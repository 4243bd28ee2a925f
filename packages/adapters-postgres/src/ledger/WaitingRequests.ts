/**
 * Stores waiting requests in the order of their arrival. Settlements, extensions and admissions wait separately.
 */
import {
  type AdmissionCallback,
  type Batch,
  type SettlementCallback,
  size,
  type WaitingAdmission,
  type WaitingExtension,
  type WaitingSettlement,
  type WorkTypes
} from "./Batch.ts"
import { isWaiting, refuseLate } from "./BatchResults.ts"
import { guarded, type QueueEvent } from "./QueueEvent.ts"

export const admissionEntry = <T extends WorkTypes>(
  admission: T["admission"],
  callback: AdmissionCallback<T>
): WaitingAdmission<T> => ({
  admission,
  maybeCommitted: false,
  settlement: undefined,
  since: performance.now(),
  callback
})

export const settlementEntry = <T extends WorkTypes>(
  request: T["settlement"],
  callback: SettlementCallback<T> | undefined,
  report: (event: QueueEvent) => void
): WaitingSettlement<T> => ({
  request,
  maybeCommitted: undefined,
  callback: callback && guarded(callback, request.admission, report),
  isEnded: false
})

export class WaitingRequests<T extends WorkTypes> implements Batch<T> {
  readonly settlements: Array<WaitingSettlement<T>> = []
  extensions: Array<WaitingExtension<T>> = []
  admissions: Array<WaitingAdmission<T>> = []

  add({ settlements, extensions, admissions }: Batch<T>): void {
    this.settlements.push(...settlements)
    this.extensions.push(...extensions)
    this.admissions.push(...admissions)
  }

  /**
   * Moves the first requests to a batch, until the batch contains `batchSize` requests of each type. With a batch size
   * of 1, the batch contains one request of any type.
   */
  moveTo(batch: WaitingRequests<T>, batchSize: number): void {
    const room = (taken: ReadonlyArray<unknown>) => (batchSize === 1 ? 1 - size(batch) : batchSize - taken.length)
    batch.settlements.push(...this.settlements.splice(0, room(batch.settlements)))
    batch.extensions.push(...this.extensions.splice(0, room(batch.extensions)))
    batch.admissions.push(...this.admissions.splice(0, room(batch.admissions)))
  }

  /** Removes and returns a batch. With a batch size of 1, the batch contains one request of any type. */
  take(batchSize: number): Batch<T> {
    const batch = new WaitingRequests<T>()
    this.moveTo(batch, batchSize)
    return batch
  }

  /** Removes and returns all requests. */
  clear(): Batch<T> {
    return this.take(Number.POSITIVE_INFINITY)
  }

  /**
   * Refuses all extensions and admissions that began to wait at `late` or earlier. Removes them, except the admissions
   * whose hold may exist: the next transaction must release this hold.
   */
  removeLate(late: number): void {
    refuseLate(this, late)
    this.extensions = this.extensions.filter(isWaiting)
    this.admissions = this.admissions.filter((waiting) => isWaiting(waiting) || waiting.maybeCommitted)
  }
}
