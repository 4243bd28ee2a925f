/**
 * Counts durations by size, for the metrics. An observation changes three numbers and allocates nothing, because
 * observations are made while requests are served.
 */
export class LatencyHistogram {
  /** The inclusive upper bounds of the buckets, in milliseconds, ascending. */
  readonly boundsMillis: ReadonlyArray<number>
  /** The number of observations in each bucket, and beyond the last bound. */
  readonly counts: Array<number>
  count = 0
  sumMillis = 0

  constructor(boundsMillis: ReadonlyArray<number>) {
    this.boundsMillis = boundsMillis
    this.counts = Array.from({ length: boundsMillis.length + 1 }, () => 0)
  }

  observe(millis: number): void {
    let bucket = 0
    while (bucket < this.boundsMillis.length && millis > (this.boundsMillis[bucket] ?? 0)) bucket += 1
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.count += 1
    this.sumMillis += millis
  }
}
