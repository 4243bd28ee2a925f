/**
 * Stores whether the database responds to the transactions of a queue, and reports outages.
 */
import type { QueueEvent } from "./QueueEvent.ts"

/** Duration of a batch above which the database may be unavailable. */
const SLOW_MILLIS = 250

export class Availability {
  readonly #report: (event: QueueEvent) => void
  /** Infinity while no batch is written; -Infinity after the first failure of the current batch. */
  #begunAt = Number.POSITIVE_INFINITY
  #unavailableSince: number | undefined

  constructor(report: (event: QueueEvent) => void) {
    this.#report = report
  }

  /** False if the current batch has failed at least once, or takes longer than `SLOW_MILLIS`. */
  get isResponding(): boolean {
    return performance.now() - this.#begunAt < SLOW_MILLIS
  }

  batchBegins(): void {
    this.#begunAt = performance.now()
  }

  batchEnds(): void {
    this.#begunAt = Number.POSITIVE_INFINITY
  }

  /** Reports an outage at the second failure of a batch, because a single lost connection is not an outage. */
  failed(error: unknown, attempt: number): void {
    this.#begunAt = Number.NEGATIVE_INFINITY
    if (attempt === 0 || this.#unavailableSince !== undefined) return
    this.#unavailableSince = performance.now()
    this.#report({ _tag: "DatabaseUnavailable", error })
  }

  succeeded(): void {
    if (this.#unavailableSince === undefined) return
    const afterMillis = Math.round(performance.now() - this.#unavailableSince)
    this.#unavailableSince = undefined
    this.#report({ _tag: "DatabaseRecovered", afterMillis })
  }
}
