/**
 * Stores the admissions of requests that are sent to their providers before their holds are written, and whose
 * responses are whole. They wait a few milliseconds: if the response arrives in this time, one transaction admits and
 * settles the request.
 */
import type { WaitingAdmission, WorkTypes } from "./Batch.ts"

/** The time for which an admission waits for its response. */
const DEFERRED_MILLIS = 10

export class DeferredAdmissions<T extends WorkTypes> {
  /**
   * In the order of arrival. A map would keep all requests alive until the next major garbage collection, because V8
   * links each table of a map to the table that replaces it.
   */
  readonly #deferred: Array<WaitingAdmission<T>> = []
  readonly #onDue: (due: ReadonlyArray<WaitingAdmission<T>>) => void
  #timer: NodeJS.Timeout | undefined

  /** `onDue` receives the admissions that have waited for their whole time. */
  constructor(onDue: (due: ReadonlyArray<WaitingAdmission<T>>) => void) {
    this.#onDue = onDue
  }

  get length(): number {
    return this.#deferred.length
  }

  add(waiting: WaitingAdmission<T>): void {
    this.#deferred.push(waiting)
    this.#timer ??= setTimeout(this.#tick, DEFERRED_MILLIS)
  }

  /** Removes and returns the entry of this admission; undefined if the admission is not deferred. */
  remove(admission: T["admission"]): WaitingAdmission<T> | undefined {
    const at = this.#deferred.findIndex((waiting) => waiting.admission === admission)
    return at < 0 ? undefined : this.#deferred.splice(at, 1)[0]
  }

  removeAll(): ReadonlyArray<WaitingAdmission<T>> {
    return this.#deferred.splice(0)
  }

  readonly #tick = (): void => {
    const latest = performance.now() - DEFERRED_MILLIS
    const next = this.#deferred.findIndex(({ since }) => since > latest)
    const due = this.#deferred.splice(0, next < 0 ? this.#deferred.length : next)
    const [first] = this.#deferred
    this.#timer = first && setTimeout(this.#tick, Math.ceil(first.since - latest))
    if (due.length > 0) this.#onDue(due)
  }
}
