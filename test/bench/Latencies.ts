/**
 * Records the latencies of the requests of a run, and computes how much the requests of a part of the run raise the
 * 99th percentile.
 *
 * The 99th percentile varies from one minute to the next, by more than the measured effect. Therefore a disturbed
 * minute is not compared with a quiet minute. Instead, two 99th percentiles of the same run are compared: of all its
 * requests, and of the requests outside the disturbed part.
 */

/** A period, in Unix milliseconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Part {
  readonly requests: number
  readonly p99Micros: number
  /**
   * The 99th percentile of all requests of the run, divided by the 99th percentile of the requests outside this part.
   */
  readonly ratio: number
}

export class Latencies {
  readonly #micros: Array<number> = []
  readonly #endedAt: Array<number> = []

  /** Records the latency of a request that ends now. */
  record(micros: number): void {
    this.#micros.push(micros)
    this.#endedAt.push(performance.timeOrigin + performance.now())
  }

  quantileMicros(q: number): number {
    return quantile(this.#micros, q)
  }

  /** Returns the figures of the requests that were running at any time in the span. */
  part({ from, to }: Span): Part {
    const inside: Array<number> = []
    const outside: Array<number> = []
    for (const [i, endedAt] of this.#endedAt.entries()) {
      const micros = this.#micros[i] ?? 0
      const isInside = endedAt >= from && endedAt - micros / 1_000 <= to
      ;(isInside ? inside : outside).push(micros)
    }
    return {
      requests: inside.length,
      p99Micros: quantile(inside, 0.99),
      ratio: this.quantileMicros(0.99) / quantile(outside, 0.99)
    }
  }
}

const quantile = (micros: ReadonlyArray<number>, q: number): number => {
  const sorted = Float64Array.from(micros).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
}
