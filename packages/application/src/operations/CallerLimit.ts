/**
 * Counts the pieces of work that have begun and not ended, and compares the counts with two limits: one for all callers
 * together, and one for each caller.
 */
export interface CallerLimitOptions {
  readonly total: number
  readonly perCaller: number
}

export class CallerLimit {
  readonly #total: number
  readonly #perCaller: number
  readonly #counts = new Map<string, number>()
  #all = 0

  constructor({ total, perCaller }: CallerLimitOptions) {
    this.#total = total
    this.#perCaller = perCaller
  }

  /** Returns whether the limit of this caller or the limit of all callers is reached. */
  isReachedBy(caller: string): boolean {
    return this.#all >= this.#total || (this.#counts.get(caller) ?? 0) >= this.#perCaller
  }

  /** Counts one more piece of work. `end` must be called exactly once for each call of `begin`. */
  begin(caller: string): void {
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1)
    this.#all += 1
  }

  end(caller: string): void {
    const count = (this.#counts.get(caller) ?? 0) - 1
    if (count > 0) this.#counts.set(caller, count)
    else this.#counts.delete(caller)
    this.#all -= 1
  }
}
