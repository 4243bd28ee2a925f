/**
 * A set whose members know their index, for members that come and go with every request.
 *
 * A `Set` would work, but each time it rehashes, its old table survives with all its members and keeps finished requests
 * alive until the next full collection. Here the last member moves into the gap of a deleted one.
 */
export interface Indexed {
  /** The index in its set, written by the set alone; -1 outside. */
  index: number
}

export class IndexedSet<M extends Indexed> {
  readonly #members: Array<M> = []

  get size(): number {
    return this.#members.length
  }

  add(member: M): void {
    if (member.index >= 0) return
    member.index = this.#members.length
    this.#members.push(member)
  }

  delete(member: M): void {
    const { index } = member
    if (index < 0) return
    member.index = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    last.index = index
    this.#members[index] = last
  }

  /** From the last to the first, so that a member may delete itself during its visit. */
  each(visit: (member: M) => void): void {
    for (let i = this.#members.length - 1; i >= 0; i--) {
      const member = this.#members[i]
      if (member !== undefined) visit(member)
    }
  }
}
