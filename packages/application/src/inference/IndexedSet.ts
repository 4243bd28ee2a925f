/**
 * Members that come and go with every request, at a cost that does not show.
 *
 * A `Set` would do, but for what it leaves behind: each time it is rehashed its old table survives with all that was
 * in it, and keeps requests that are long over alive until the next full collection. Here a member knows its place,
 * and the last one moves into the gap.
 */
export interface Member {
  /** Its place in the roster, for the roster alone; -1 outside. */
  place: number
}

export class IndexedSet<M extends Member> {
  readonly #members: Array<M> = []

  get size(): number {
    return this.#members.length
  }

  add(member: M): void {
    if (member.place >= 0) return
    member.place = this.#members.length
    this.#members.push(member)
  }

  delete(member: M): void {
    const { place } = member
    if (place < 0) return
    member.place = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    last.place = place
    this.#members[place] = last
  }

  /** From the last to the first, so that a member may leave when it is its turn. */
  each(visit: (member: M) => void): void {
    for (let i = this.#members.length - 1; i >= 0; i--) {
      const member = this.#members[i]
      if (member !== undefined) visit(member)
    }
  }
}
