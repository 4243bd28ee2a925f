/**
 * How long the requests of a run waited, and what its 99th percentile owes to those of some seconds.
 *
 * To compare a disturbed minute with a quiet one tells little: percentiles of two minutes differ by more than what is
 * looked for. Within one run everything else is the same, and what a disturbance did to it is seen by leaving out the
 * requests it can have met.
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

export class Waits {
  readonly #micros: Array<number> = []
  readonly #endedAt: Array<number> = []

  /** A wait that ends now. */
  ended(micros: number): void {
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
