/** Decides whether a series of samples, such as memory over time, is flat. */

/** The share of the samples that belongs to the warm-up, when caches fill and the JIT compiler works. */
const WARM_UP_SHARE = 0.2

export interface Flatness {
  /** The median of the first half after the warm-up. */
  readonly before: number
  /** The median of the second half. */
  readonly after: number
  readonly isFlat: boolean
}

/**
 * Compares the medians of the two halves after the warm-up. `tolerance` is the allowed growth as a share of `before`.
 */
export const flatness = (samples: ReadonlyArray<number>, tolerance: number): Flatness => {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP_SHARE))
  const middle = Math.ceil(warm.length / 2)
  const [before, after] = [median(warm.slice(0, middle)), median(warm.slice(middle))]
  return { before, after, isFlat: warm.length > 1 && after <= before * (1 + tolerance) }
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
