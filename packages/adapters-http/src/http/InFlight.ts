/**
 * Counts the work in progress of the relay and the HttpApi: requests that wait for their start, requests whose handler
 * is running, and responses that are not completely sent. The shutdown waits for a limited time until there is none.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export class InFlightRequests {
  #count = 0
  #waiting: Array<() => void> = []
  /**
   * True from the start of the drain on. A response of the relay or the HttpApi whose head is written during the drain
   * closes its connection.
   */
  draining = false
  /** True when the delay of the drain is over. New requests except probes are then refused. */
  refusing = false

  get count(): number {
    return this.#count
  }

  started(): void {
    this.#count += 1
  }

  ended(): void {
    this.#count -= 1
    if (this.#count > 0) return
    for (const resume of this.#waiting.splice(0)) resume()
  }

  /** Completes when no work is in progress. */
  readonly idle: Effect.Effect<void> = Effect.async((resume) => {
    const done = () => resume(Effect.void)
    if (this.#count === 0) return done()
    this.#waiting.push(done)
    return Effect.sync(() => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== done)
    })
  })
}

export class InFlight extends Context.Tag("@tollgate/adapters-http/InFlight")<InFlight, InFlightRequests>() {}

export const layer: Layer.Layer<InFlight> = Layer.sync(InFlight, () => new InFlightRequests())
