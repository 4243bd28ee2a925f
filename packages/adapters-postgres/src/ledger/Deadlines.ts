/**
 * Checks regularly for waiting requests whose deadline passes. Checks only while such requests wait.
 */
const CHECKS_PER_DEADLINE = 10

export class Deadlines {
  readonly #limitMillis: number
  readonly #check: (late: number) => boolean
  #timer: NodeJS.Timeout | undefined

  /**
   * `check` refuses every request that began to wait at `late` or earlier, and returns whether other requests with a
   * deadline wait.
   */
  constructor(limitMillis: number, check: (late: number) => boolean) {
    this.#limitMillis = limitMillis
    this.#check = check
  }

  /** Starts the checks, if they do not run yet. */
  watch(): void {
    const tick = this.#limitMillis / CHECKS_PER_DEADLINE
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // Every request whose deadline passes before the next check is late.
      if (this.#check(performance.now() - this.#limitMillis + tick)) this.watch()
    }, tick).unref()
  }
}
