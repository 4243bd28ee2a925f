/**
 * Decides whether and when a worker that died is replaced.
 *
 * Deaths soon after a start probably have a cause that a restart does not remove. The delay before the next start
 * doubles with each such death, and after the fifth in succession the worker is not replaced.
 */

/** A death counts as quick if the worker lived for less than this time, which includes its start. */
export const QUICK_MILLIS = 10_000
export const MAX_QUICK_DEATHS = 5
const FIRST_DELAY_MILLIS = 50

export class RestartPolicy {
  /** The number of quick deaths since the last worker that lived longer. */
  #quickDeaths = 0

  /** Returns the milliseconds to wait before the replacement starts, or undefined if there is no replacement. */
  afterDeath(livedMillis: number): number | undefined {
    this.#quickDeaths = livedMillis < QUICK_MILLIS ? this.#quickDeaths + 1 : 0
    return this.#quickDeaths < MAX_QUICK_DEATHS ? FIRST_DELAY_MILLIS * 2 ** this.#quickDeaths : undefined
  }
}
