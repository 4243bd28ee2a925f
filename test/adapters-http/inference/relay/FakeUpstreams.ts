/** `FakeUpstreams` replaces the providers. The test itself triggers each event of a provider's response. */
import {
  type UpstreamEvents,
  type UpstreamRequest,
  Upstreams,
  type Verdict
} from "@tollgate/application/inference/Upstreams"
import type { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { Either, Layer } from "effect"

export class FakeExchange {
  readonly request: UpstreamRequest
  readonly events: UpstreamEvents
  verdict: Verdict | undefined
  resumed = 0

  constructor(request: UpstreamRequest, events: UpstreamEvents) {
    this.request = request
    this.events = events
  }

  head(status: number, contentType = "application/json", retryAfter?: string): this {
    this.events.onHead({ status, contentType, retryAfter })
    return this
  }

  stream(): this {
    return this.head(200, "text/event-stream")
  }

  data(text: string): boolean {
    return this.events.onData(Buffer.from(text))
  }

  event(data: unknown): boolean {
    return this.data(`data: ${JSON.stringify(data)}\n\n`)
  }

  end(): void {
    this.events.onEnd()
  }
}

export class FakeUpstreams {
  readonly exchanges: Array<FakeExchange> = []
  /** The errors with which the next requests fail, one for each request; undefined if the request is sent. */
  readonly refusals: Array<Overloaded | CircuitOpen | UpstreamFailed | undefined> = []
  #waiting: Array<() => void> = []
  #returned = 0

  readonly layer: Layer.Layer<Upstreams> = Layer.succeed(Upstreams, {
    send: (request, events) => {
      const refusal = this.refusals.shift()
      if (refusal !== undefined) return Either.left(refusal)
      const exchange = new FakeExchange(request, events)
      this.exchanges.push(exchange)
      for (const wake of this.#waiting.splice(0)) wake()
      return Either.right({
        resume: () => {
          exchange.resumed += 1
        },
        close: (verdict) => {
          exchange.verdict ??= verdict
        }
      })
    },
    containsApiKey: () => false,
    loads: () => []
  })

  /** Waits for the next request that the gateway sends. */
  async next(): Promise<FakeExchange> {
    for (;;) {
      const exchange = this.exchanges[this.#returned]
      if (exchange !== undefined) {
        this.#returned += 1
        return exchange
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}
