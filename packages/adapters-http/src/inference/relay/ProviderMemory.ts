/**
 * `ProviderMemory` limits the memory that the unfinished responses of one provider use together: whole responses, and
 * incomplete events of streams. Each provider has its own limit. Therefore, if a provider sends endless
 * responses, only requests to this provider fail.
 *
 * A response reserves no memory for its first 256 KiB. Nearly all responses are smaller, so they reserve no memory.
 */
import { MemoryReservation, ReservedMemory } from "../../http/MemoryReservation.ts"

/** The bytes of a response that need no reservation. */
export const FREE_BYTES = 256 * 1024
/** Reservations grow in steps of at least this size, so that a large response reserves memory only a few times. */
const STEP_BYTES = 1024 * 1024

export class ProviderMemory {
  readonly #limitBytes: number
  readonly #reserved = new Map<string, ReservedMemory>()

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Returns a new reservation of memory for one response of this provider. */
  reservationFor(provider: string): ResponseMemory {
    let reserved = this.#reserved.get(provider)
    if (reserved === undefined) {
      reserved = new ReservedMemory()
      this.#reserved.set(provider, reserved)
    }
    return new ResponseMemory(new MemoryReservation(reserved, this.#limitBytes))
  }
}

/** The memory of one response. */
export class ResponseMemory {
  readonly #reservation: MemoryReservation
  #bytes = FREE_BYTES

  constructor(reservation: MemoryReservation) {
    this.#reservation = reservation
  }

  /** Reserves memory for `bytes` bytes in total. Returns false if the provider's limit would be exceeded. */
  reserve(bytes: number): boolean {
    if (bytes <= this.#bytes) return true
    const step = Math.max(STEP_BYTES, bytes - this.#bytes)
    if (!this.#reservation.take(step)) return false
    this.#bytes += step
    return true
  }

  release(): void {
    this.#reservation.release()
  }
}
