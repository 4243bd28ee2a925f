/**
 * The content that one client was sent, in order, and the part of it that its socket has taken.
 *
 * Text is appended when a frame is written and becomes delivered when the socket reports that frame's bytes taken.
 * Only content passes through here: keepalives, metadata and error frames never do. Written to at every frame of
 * every stream, so it is a mutable accumulator; the domain decides which text is content.
 */

/** From this character to the next turn, the content belongs to this choice of the response. */
export interface Turn {
  readonly choice: number
  readonly from: number
}

const FIRST = 0
const NO_TURNS: ReadonlyArray<Turn> = []

export class DeliveredText {
  #sent = ""
  /** Where another choice than the one before continues; most responses have only the first. */
  readonly #turns: Array<Turn> = []
  #choice = FIRST
  #sentDeltas = 0
  #characters = 0
  #deltas = 0

  /** Appends the content of one frame, of the first choice up to the first turn in it. An empty delta is ignored. */
  append(content: string, turns: ReadonlyArray<Turn> = NO_TURNS): void {
    if (content === "") return
    const at = this.#sent.length
    if (turns[0]?.from !== 0) this.#turn(FIRST, at)
    for (const { choice, from } of turns) this.#turn(choice, at + from)
    this.#sent += content
    this.#sentDeltas += 1
  }

  #turn(choice: number, from: number): void {
    if (choice === this.#choice) return
    this.#choice = choice
    this.#turns.push({ choice, from })
  }

  /** The number of deltas sent; pass it to {@link markDelivered} with the characters when the socket has taken them. */
  get sentDeltas(): number {
    return this.#sentDeltas
  }

  get sentCharacters(): number {
    return this.#sent.length
  }

  markDelivered(characters: number, deltas: number): void {
    this.#characters = characters
    this.#deltas = deltas
  }

  get deltas(): number {
    return this.#deltas
  }

  get characters(): number {
    return this.#characters
  }

  /** The delivered text of each choice: a token never spans two choices. */
  get texts(): ReadonlyArray<string> {
    const texts = new Map<number, string>()
    let [choice, begun] = [FIRST, 0]
    for (const turn of [...this.#turns, { choice: FIRST, from: this.#characters }]) {
      const end = Math.min(turn.from, this.#characters)
      if (end > begun) texts.set(choice, (texts.get(choice) ?? "") + this.#sent.slice(begun, end))
      choice = turn.choice
      begun = turn.from
    }
    return [...texts.values()]
  }
}
