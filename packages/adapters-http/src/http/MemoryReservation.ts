/**
 * Limits the memory that all requests of one kind (for example all image requests) use together, and the share of each
 * party to which requests are assigned: a customer, or the IP address of a client. A request reserves the bytes that it
 * stores, and releases them all together.
 */

/** The bytes that all requests of one kind have reserved, together and per party. */
export class ReservedMemory {
  bytes = 0
  readonly #ofParties = new Map<string, number>()

  of(party: string): number {
    return this.#ofParties.get(party) ?? 0
  }

  add(party: string | undefined, bytes: number): void {
    this.bytes += bytes
    if (party === undefined) return
    const sum = this.of(party) + bytes
    if (sum === 0) this.#ofParties.delete(party)
    else this.#ofParties.set(party, sum)
  }
}

/** The reservation of one request. */
export class MemoryReservation {
  readonly #reserved: ReservedMemory
  readonly #limitBytes: number
  #party: string | undefined
  #ownBytes = 0
  #released = false

  /** `limitBytes` limits the reservations of all requests together. */
  constructor(reserved: ReservedMemory, limitBytes: number) {
    this.#reserved = reserved
    this.#limitBytes = limitBytes
  }

  /** Sets the party whose share contains the bytes. Must be called before the first byte is reserved. */
  assignTo(party: string): void {
    this.#party = party
  }

  /**
   * Reserves bytes. Returns false and reserves nothing in three cases: the limit would be exceeded, the party would
   * have more than half of the memory that other parties leave free, or the reservation was released.
   */
  take(bytes: number): boolean {
    const reserved = this.#reserved
    if (this.#released || reserved.bytes + bytes > this.#limitBytes) return false
    if (this.#party !== undefined) {
      const own = reserved.of(this.#party)
      if (own + bytes > (this.#limitBytes - (reserved.bytes - own)) / 2) return false
    }
    reserved.add(this.#party, bytes)
    this.#ownBytes += bytes
    return true
  }

  release(): void {
    this.#released = true
    if (this.#ownBytes > 0) this.#reserved.add(this.#party, -this.#ownBytes)
    this.#ownBytes = 0
  }
}
