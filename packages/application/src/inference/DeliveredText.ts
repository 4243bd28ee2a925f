/**
 * The content that was sent to one client, in order, and the part that the client's socket has taken.
 *
 * Text is appended when a frame is written, and counts as delivered when the socket has taken the bytes of that frame.
 * Only content is appended, never keepalives, metadata or error frames; the domain decides which text is content. The
 * class is mutable because every frame of every stream appends to it.
 */

/** A position from which the content belongs to another choice of the response, up to the next turn. */
export interface Turn {
  readonly choice: number
  readonly from: number
}

const FIRST = 0
const NO_TURNS: ReadonlyArray<Turn> = []

export class DeliveredText {
  #sent = ""
  /** The positions where the choice changes. Most responses have one choice and no turn. */
  readonly #turns: Array<Turn> = []
  #choice = FIRST
  #sentDeltas = 0
  #characters = 0
  #deltas = 0

  /**
   * Appends the content of one frame. Content before the first turn belongs to the first choice. Ignores an empty
   * delta.
   */
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

  /**
   * The number of sent deltas. Once the socket has taken them, pass it to {@link markDelivered} with `sentCharacters`.
   */
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

  /** The delivered text per choice. Choices are counted separately, because a token never spans two choices. */
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
