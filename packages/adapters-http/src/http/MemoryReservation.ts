/**
 * Bounds the memory that all requests of one surface use together. A request reserves bytes before it keeps them, and
 * releases them when it is over.
 */

/** The bytes that are reserved now, by all requests of a surface. */
export class ReservedMemory {
  bytes = 0
}

/** The bytes that one request has reserved. */
export class MemoryReservation {
  readonly #reserved: ReservedMemory
  readonly #limitBytes: number
  #ownBytes = 0

  /** The limit is for all requests together. */
  constructor(reserved: ReservedMemory, limitBytes: number) {
    this.#reserved = reserved
    this.#limitBytes = limitBytes
  }

  /** False when the limit leaves no room; then nothing is reserved. */
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
