/**
 * A set whose members store their index, for members that are added and deleted with every request.
 *
 * A `Set` would work, but after each rehash its old table survives with all its members and keeps finished requests
 * alive until the next full garbage collection. Here the last member takes the place of a deleted member.
 */
export interface Indexed {
  /** The index in the set; -1 if the member is in no set. Only the set writes it. */
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

  /** Visits all members from last to first, so that a member may delete itself during its visit. */
  each(visit: (member: M) => void): void {
    for (let i = this.#members.length - 1; i >= 0; i--) {
      const member = this.#members[i]
      if (member !== undefined) visit(member)
    }
  }
}
