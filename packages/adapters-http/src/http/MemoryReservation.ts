/**
 * Limits the memory that all requests of one kind (for example all image requests) use together. A request reserves
 * bytes before it stores them, and releases all its bytes when it ends.
 */

/** The number of bytes that all requests of one kind have reserved together. */
export class ReservedMemory {
  bytes = 0
}

/** The reservation of one request. */
export class MemoryReservation {
  readonly #reserved: ReservedMemory
  readonly #limitBytes: number
  #ownBytes = 0

  /** `limitBytes` limits the reservations of all requests together. */
  constructor(reserved: ReservedMemory, limitBytes: number) {
    this.#reserved = reserved
    this.#limitBytes = limitBytes
  }

  /** Reserves bytes. Returns false and reserves nothing if the limit would be exceeded. */
  take(bytes: number): boolean {
    if (this.#reserved.bytes + bytes > this.#limitBytes) return false
    this.#reserved.bytes += bytes
    this.#ownBytes += bytes
    return true
  }

  release(): void {
    this.#reserved.bytes -= this.#ownBytes
    this.#ownBytes = 0
  }
}
