/**
 * Limits the memory that all requests of one kind (for example all image requests) use together, and the share of each
 * customer or client. A request reserves bytes before it stores them, and releases all its bytes when it ends.
 */

/** The bytes that all requests of one kind have reserved, together and per customer. */
export class ReservedMemory {
  bytes = 0
  readonly #ofCustomers = new Map<string, number>()

  of(customer: string): number {
    return this.#ofCustomers.get(customer) ?? 0
  }

  add(customer: string | undefined, bytes: number): void {
    this.bytes += bytes
    if (customer === undefined) return
    const sum = this.of(customer) + bytes
    if (sum === 0) this.#ofCustomers.delete(customer)
    else this.#ofCustomers.set(customer, sum)
  }
}

/** The reservation of one request. */
export class MemoryReservation {
  readonly #reserved: ReservedMemory
  readonly #limitBytes: number
  #customer: string | undefined
  #ownBytes = 0
  #released = false

  /** `limitBytes` limits the reservations of all requests together. */
  constructor(reserved: ReservedMemory, limitBytes: number) {
    this.#reserved = reserved
    this.#limitBytes = limitBytes
  }

  /** Sets the customer whose share the bytes count against. Must be called before the first byte is reserved. */
  assignTo(customer: string): void {
    this.#customer = customer
  }

  /**
   * Reserves bytes. Returns false and reserves nothing in three cases: the limit would be exceeded, the customer would
   * have more than half of the memory that other customers leave free, or the reservation was released.
   */
  take(bytes: number): boolean {
    const reserved = this.#reserved
    if (this.#released || reserved.bytes + bytes > this.#limitBytes) return false
    if (this.#customer !== undefined) {
      const own = reserved.of(this.#customer)
      if (own + bytes > (this.#limitBytes - (reserved.bytes - own)) / 2) return false
    }
    reserved.add(this.#customer, bytes)
    this.#ownBytes += bytes
    return true
  }

  release(): void {
    this.#released = true
    if (this.#ownBytes > 0) this.#reserved.add(this.#customer, -this.#ownBytes)
    this.#ownBytes = 0
  }
}
