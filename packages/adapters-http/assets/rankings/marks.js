/**
 * Which colour a model has: the same one as long as the page is open, whichever window is shown.
 */
const COLOURS = 8
export const OTHER = "mark-other"

export class Marks {
  /** @type {Map<string, number>} */
  #kept = new Map()
  /** @type {Map<string, string>} */
  #shown = new Map()

  /** Gives each of these a colour, and takes those of others where there are not enough. @param {ReadonlyArray<string>} names */
  show(names) {
    const wanted = names.slice(0, COLOURS)
    const taken = new Set(wanted.flatMap((name) => this.#kept.get(name) ?? []))
    const free = Array.from({ length: COLOURS }, (_, i) => i + 1).filter((colour) => !taken.has(colour))
    for (const name of wanted) if (!this.#kept.has(name)) this.#give(name, free)
    this.#shown = new Map(wanted.map((name) => [name, `mark-${this.#kept.get(name)}`]))
  }

  /** @param {string} name @param {Array<number>} free */
  #give(name, free) {
    const colour = free.shift()
    if (colour === undefined) return
    for (const [other, its] of this.#kept) if (its === colour) this.#kept.delete(other)
    this.#kept.set(name, colour)
  }

  /** @param {string} name */
  of(name) {
    return this.#shown.get(name) ?? OTHER
  }
}
