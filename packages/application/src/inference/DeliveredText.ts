/**
 * The content one client was sent, in order, and how much of it its socket has taken.
 *
 * Text is appended when a frame is written and becomes delivered when the socket reports that frame's bytes taken.
 * Only content passes through here: keepalives, metadata and error frames never do. Written to at every frame of
 * every stream, so it is a mutable accumulator; what counts as content is decided in the domain.
 */
export class DeliveredText {
  #sent = ""
  #sentDeltas = 0
  #characters = 0
  #deltas = 0

  /** Appends the content of one frame. An empty delta is nothing. */
  append(content: string): void {
    if (content === "") return
    this.#sent += content
    this.#sentDeltas += 1
  }

  /** How many deltas were sent so far; hand it to {@link markDelivered} with the characters once they are taken. */
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

  get text(): string {
    return this.#sent.slice(0, this.#characters)
  }
}
