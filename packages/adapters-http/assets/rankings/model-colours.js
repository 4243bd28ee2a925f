/**
 * Assigns colours to the models of the chart, to at most eight at a time. A model keeps its colour when another window
 * is selected. A model that is not shown can lose its colour to a model that is shown.
 */
const COLOURS = 8
export const OTHER = "mark-other"

export class ModelColours {
  /** @type {Map<string, number>} */
  #assigned = new Map()
  /** @type {Map<string, string>} */
  #shown = new Map()

  /**
   * Assigns a colour to each of the first {@link COLOURS} names. A new name gets the first colour that no shown model
   * has; a model that is not shown loses this colour.
   * @param {ReadonlyArray<string>} names
   */
  show(names) {
    const wanted = names.slice(0, COLOURS)
    const taken = new Set(wanted.flatMap((name) => this.#assigned.get(name) ?? []))
    const free = Array.from({ length: COLOURS }, (_, i) => i + 1).filter((colour) => !taken.has(colour))
    for (const name of wanted) if (!this.#assigned.has(name)) this.#assign(name, free)
    this.#shown = new Map(wanted.map((name) => [name, `mark-${this.#assigned.get(name)}`]))
  }

  /** @param {string} name @param {Array<number>} free */
  #assign(name, free) {
    const colour = free.shift()
    if (colour === undefined) return
    for (const [other, its] of this.#assigned) if (its === colour) this.#assigned.delete(other)
    this.#assigned.set(name, colour)
  }

  /** Returns the CSS class of a model's colour. @param {string} name */
  classOf(name) {
    return this.#shown.get(name) ?? OTHER
  }
}
