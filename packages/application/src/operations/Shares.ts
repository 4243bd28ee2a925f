/**
 * Divides a limited resource, such as places in a queue, between parties.
 *
 * A party can take another unit only while it holds fewer units than are free. One party alone therefore gets at most
 * half of the resource, rounded up. Two parties that take units in turn get about a third each. A party without units
 * can take one as long as any unit is free. Only parties that hold units have an entry, so the limit also bounds the
 * number of entries.
 */
import * as Effect from "effect/Effect"

export class Shares<Party> {
  readonly #limit: number
  readonly #held = new Map<Party, number>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  heldBy(party: Party): number {
    return this.#held.get(party) ?? 0
  }

  /**
   * True if the party holds its share, so that it cannot take another unit. `expected` is the number of units that
   * other parties will take first.
   */
  isFullFor(party: Party, expected = 0): boolean {
    return this.heldBy(party) + 1 > this.#limit - this.#total - expected
  }

  /** Takes one unit. Returns false and takes nothing if the party holds its share. */
  take(party: Party): boolean {
    if (this.isFullFor(party)) return false
    this.#held.set(party, this.heldBy(party) + 1)
    this.#total += 1
    return true
  }

  /** Returns one unit. The party must hold at least one unit. */
  release(party: Party): void {
    const left = this.heldBy(party) - 1
    if (left > 0) this.#held.set(party, left)
    else this.#held.delete(party)
    this.#total -= 1
  }
}

/** Runs `work` while the party holds one unit. Runs `whenFull` instead if the party already holds its share. */
export const withinShare = <Party, A, E, R, A2, E2, R2>(
  shares: Shares<Party>,
  party: Party,
  work: Effect.Effect<A, E, R>,
  whenFull: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.acquireUseRelease(
    Effect.sync(() => shares.take(party)),
    (taken): Effect.Effect<A | A2, E | E2, R | R2> => (taken ? work : whenFull),
    (taken) =>
      Effect.sync(() => {
        if (taken) shares.release(party)
      })
  )
