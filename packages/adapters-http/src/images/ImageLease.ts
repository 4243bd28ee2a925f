/**
 * The share of the memory for images that one request holds, from the first byte of its form until its answer was taken.
 */
import type { RelayCounters } from "../inference/relay/RelayMetrics.ts"

export class ImageLease {
  readonly #counters: RelayCounters
  readonly #limitBytes: number
  #heldBytes = 0

  constructor(counters: RelayCounters, limitBytes: number) {
    this.#counters = counters
    this.#limitBytes = limitBytes
  }

  take(bytes: number): boolean {
    if (this.#counters.imageBytes + bytes > this.#limitBytes) return false
    this.#counters.imageBytes += bytes
    this.#heldBytes += bytes
    return true
  }

  release(): void {
    this.#counters.imageBytes -= this.#heldBytes
    this.#heldBytes = 0
  }
}
