/**
 * Stores the callbacks of readers that wait until a group commit queue has written its settlements.
 */
type Reader = () => void

export class SettlementReaders {
  /** Readers of the settlements that are in no batch yet. */
  #next = new Set<Reader>()
  /** Readers of the settlements in the current batch; undefined if no such batch is being written. */
  #current: Set<Reader> | undefined

  /**
   * Adds a reader of the waiting settlements, or of those in the batch if none wait. Returns a function that removes
   * the reader, or undefined if there is nothing to wait for.
   */
  add(reader: Reader, waitingSettlements: number): (() => void) | undefined {
    const readers = waitingSettlements > 0 ? this.#next : this.#current
    readers?.add(reader)
    return readers && (() => readers.delete(reader))
  }

  /** A batch with settlements begins. If other settlements wait in the queue, the readers wait for a later batch. */
  batchBegins(waitingSettlements: number): void {
    this.#current = waitingSettlements > 0 ? new Set() : this.#next
    if (waitingSettlements === 0) this.#next = new Set()
  }

  /** Calls the readers of the batch. Calls all readers if no settlement waits in the queue. */
  batchEnds(waitingSettlements: number): void {
    const ended = waitingSettlements === 0 ? [...(this.#current ?? []), ...this.#next] : (this.#current ?? [])
    this.#current = undefined
    if (waitingSettlements === 0) this.#next = new Set()
    for (const reader of ended) reader()
  }
}
