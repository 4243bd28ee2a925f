/**
 * Stores the content of one response in the order of writing, and the length of the part that the client's socket has
 * accepted.
 *
 * Content is appended when a frame is written. It counts as delivered when the socket has accepted the bytes of the
 * frame. Keepalives, metadata and error frames are never appended. The domain decides which text is content. The class
 * is mutable for speed, because every frame with content appends to it.
 */

/** A change of the choice: content from the position `from` up to the next change belongs to `choice`. */
export interface ChoiceSwitch {
  /** The index of the choice in the response. */
  readonly choice: number
  /** The index of the first character of the choice. */
  readonly from: number
}

const FIRST = 0
const NO_SWITCHES: ReadonlyArray<ChoiceSwitch> = []

export class DeliveredText {
  /** The content of each delta. */
  readonly #pieces: Array<string> = []
  /** The changes of the choice. A response with one choice has none. */
  readonly #switches: Array<ChoiceSwitch> = []
  #choice = FIRST
  #sentCharacters = 0
  #characters = 0
  #deltas = 0

  /**
   * Appends the content of one translated event as one delta. The positions of `switches` count from the start of this
   * content. Content before the first switch belongs to the first choice. Ignores empty content.
   */
  append(content: string, switches: ReadonlyArray<ChoiceSwitch> = NO_SWITCHES): void {
    if (content === "") return
    const at = this.#sentCharacters
    if (switches[0]?.from !== 0) this.#switchTo(FIRST, at)
    for (const { choice, from } of switches) this.#switchTo(choice, at + from)
    this.#pieces.push(content)
    this.#sentCharacters += content.length
  }

  #switchTo(choice: number, from: number): void {
    if (choice === this.#choice) return
    this.#choice = choice
    this.#switches.push({ choice, from })
  }

  /**
   * The number of deltas written so far. For each write, the caller stores this number and `sentCharacters`. The caller
   * passes both to {@link markDelivered} when the socket has accepted the written bytes.
   */
  get sentDeltas(): number {
    return this.#pieces.length
  }

  get sentCharacters(): number {
    return this.#sentCharacters
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

  /** The delivered text of each choice. The tokens of each text are counted separately: no token spans two choices. */
  get texts(): ReadonlyArray<string> {
    return this.sentBetween(0, this.#deltas)
  }

  /** Returns the text of each choice in the deltas from the index `first` up to, but not including, the index `end`. */
  sentBetween(first: number, end: number): ReadonlyArray<string> {
    const text = this.#pieces.slice(first, end).join("")
    if (this.#switches.length === 0) return text === "" ? [] : [text]
    const at = this.#lengthOf(0, first)
    const texts = new Map<number, string>()
    let [choice, begun] = [FIRST, 0]
    for (const next of [...this.#switches, { choice: FIRST, from: at + text.length }]) {
      const [from, to] = [Math.max(begun - at, 0), Math.min(next.from - at, text.length)]
      if (to > from) texts.set(choice, (texts.get(choice) ?? "") + text.slice(from, to))
      choice = next.choice
      begun = next.from
    }
    return [...texts.values()]
  }

  #lengthOf(first: number, end: number): number {
    let characters = 0
    for (let i = first; i < end; i++) characters += this.#pieces[i]?.length ?? 0
    return characters
  }
}
