/**
 * `DeliveryMarks` is a queue with one mark for each pending write of a stream: a write that the client's socket has not
 * accepted yet. A mark contains the number of characters and of deltas that were sent up to the end of its write.
 *
 * A write without content has a mark too, because the socket confirms writes, not content. The queue is a ring of
 * numbers, so that a write usually allocates no memory. The ring grows if it is full and another write is added.
 */
const INITIAL_MARKS = 8

export class DeliveryMarks {
  /** The marks. Each mark takes two items: the number of characters, then the number of deltas. */
  #ring: Array<number> = new Array(INITIAL_MARKS * 2).fill(0)
  #capacity = INITIAL_MARKS
  #first = 0
  #waiting = 0

  /** The number of characters in the mark that `shift` removed last. */
  characters = 0
  /** The number of deltas in the mark that `shift` removed last. */
  deltas = 0

  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  /** Adds the mark of a new write. Both numbers are totals of the stream, including this write. */
  push(characters: number, deltas: number): void {
    if (this.#waiting === this.#capacity) this.#grow()
    const at = ((this.#first + this.#waiting) % this.#capacity) * 2
    this.#ring[at] = characters
    this.#ring[at + 1] = deltas
    this.#waiting += 1
  }

  /** Removes the mark of the oldest pending write. Returns false if no write is pending. */
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
