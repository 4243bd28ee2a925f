/**
 * Starts at most one request in each turn of the event loop, in the order of arrival.
 *
 * The handling of a request begins with up to a millisecond of work. Without this queue, a burst of requests that arrive
 * together would start in one turn, and everything else, such as the next event of a stream, would wait for all of them.
 */
export class StartQueue {
  #waiting: Array<() => void> = []
  #started = 0
  #isScheduled = false

  /** Adds a request. `start` must not throw. */
  add(start: () => void): void {
    this.#waiting.push(start)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#startNext)
  }

  // An immediate that is set by an immediate runs in the next turn of the event loop, after the waiting I/O.
  readonly #startNext = (): void => {
    const start = this.#waiting[this.#started++]
    if (this.#started === this.#waiting.length) {
      this.#waiting = []
      this.#started = 0
      this.#isScheduled = false
    } else setImmediate(this.#startNext)
    start?.()
  }
}
