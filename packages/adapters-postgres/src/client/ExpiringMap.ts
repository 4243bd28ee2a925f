/**
 * Implements a bounded map with entries that expire. When the map is full, a new entry removes the entry
 * that was set the longest time ago.
 */
interface Entry<Value> {
  readonly value: Value
  readonly sinceMillis: number
}

export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the value if its entry is younger than `ageMillis`. */
  get(key: Key, ageMillis: number): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() - entry.sinceMillis < ageMillis) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /** Sets the value. The age of the entry counts from `sinceMillis`, a time of `performance.now()`. */
  set(key: Key, value: Value, sinceMillis = performance.now()): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, sinceMillis })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity) break
      this.#entries.delete(oldest)
    }
  }

  forget(which: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries) if (which(value)) this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
