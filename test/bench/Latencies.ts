/**
 * The latencies of the requests of a run, and the share of some seconds in its 99th percentile.
 *
 * The percentiles of two minutes differ by more than the effect to be measured, so a disturbed minute is not compared
 * with a quiet one. Within one run everything else is the same: the effect of a disturbance is the difference to the
 * same run without the requests that it can have met.
 */

/** In milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Part {
  readonly requests: number
  readonly p99Micros: number
  /** The 99th percentile of the whole run, over that of the run without this part. */
  readonly ratio: number
}

export class Latencies {
  readonly #micros: Array<number> = []
  readonly #endedAt: Array<number> = []

  /** Records a latency that ends now. */
  record(micros: number): void {
    this.#micros.push(micros)
    this.#endedAt.push(performance.timeOrigin + performance.now())
  }

  quantileMicros(q: number): number {
    return quantile(this.#micros, q)
  }

  /** The requests that were under way at any time in the span. */
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
