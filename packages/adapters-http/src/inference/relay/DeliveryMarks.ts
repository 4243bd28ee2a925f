/**
 * How much content each write carried, in the order of the writes, until the socket reports that it took them.
 *
 * One write, one mark, also when it carried no content: the socket confirms writes, not contents. A ring of numbers,
 * so that a stream allocates nothing for a write; it grows with the writes a slow socket keeps waiting.
 */
const INITIAL_MARKS = 8

export class DeliveryMarks {
  /** Characters and deltas, alternating. */
  #ring: Array<number> = new Array(INITIAL_MARKS * 2).fill(0)
  #capacity = INITIAL_MARKS
  #first = 0
  #waiting = 0

  /** Of the mark shifted last. */
  characters = 0
  deltas = 0

  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  /** A write that brings the content sent to so many characters in so many deltas. */
  push(characters: number, deltas: number): void {
    if (this.#waiting === this.#capacity) this.#grow()
    const at = ((this.#first + this.#waiting) % this.#capacity) * 2
    this.#ring[at] = characters
    this.#ring[at + 1] = deltas
    this.#waiting += 1
  }

  /** The oldest write is taken. False when none was waiting. */
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
