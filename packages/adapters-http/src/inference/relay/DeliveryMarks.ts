/**
 * A queue of marks, one per pending write: the content sent up to and including that write.
 *
 * A write without content has a mark too, because the socket confirms writes, not content. The queue is a ring of
 * numbers, so that a stream allocates nothing per write; it grows with the number of writes that a slow socket leaves
 * pending.
 */
const INITIAL_MARKS = 8

export class DeliveryMarks {
  /** The marks: numbers of characters and deltas, alternating. */
  #ring: Array<number> = new Array(INITIAL_MARKS * 2).fill(0)
  #capacity = INITIAL_MARKS
  #first = 0
  #waiting = 0

  /** The number of characters in the last shifted mark; `deltas` is its number of deltas. */
  characters = 0
  deltas = 0

  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  /** Adds the mark of a write: the total characters and deltas sent, including this write. */
  push(characters: number, deltas: number): void {
    if (this.#waiting === this.#capacity) this.#grow()
    const at = ((this.#first + this.#waiting) % this.#capacity) * 2
    this.#ring[at] = characters
    this.#ring[at + 1] = deltas
    this.#waiting += 1
  }

  /** Removes the mark of the oldest pending write, which the socket took. Returns false if no write was pending. */
  shift(): boolean {
    if (this.#waiting === 0) return false
    this.characters = this.#ring[this.#first * 2] as number
    this.deltas = this.#ring[this.#first * 2 + 1] as number
    this.#first = (this.#first + 1) % this.#capacity
    this.#waiting -= 1
    return true
  }

  #grow(): void {
    const grown: Array<number> = new Array(this.#capacity * 4).fill(0)
    for (let i = 0; i < this.#capacity * 2; i++) {
      grown[i] = this.#ring[(this.#first * 2 + i) % (this.#capacity * 2)] as number
    }
    this.#ring = grown
    this.#capacity *= 2
    this.#first = 0
  }
}
