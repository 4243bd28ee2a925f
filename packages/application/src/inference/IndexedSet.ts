/**
 * An array-backed set whose members store their index. Members are added and deleted with every request, so both
 * operations must be fast: the last member takes the place of a deleted member.
 *
 * A built-in `Set` keeps its old hash table after each rehash. That table references finished requests, which stay in
 * memory until the next full garbage collection.
 */
export interface Indexed {
  /** The index in the set; -1 if the member is in no set. Only the set changes the index. */
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

  /** Visits all members from last to first, so that a visit may delete the visited member. */
  each(visit: (member: M) => void): void {
    for (let i = this.#members.length - 1; i >= 0; i--) {
      const member = this.#members[i]
      if (member !== undefined) visit(member)
    }
  }
}
