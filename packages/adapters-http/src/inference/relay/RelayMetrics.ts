/**
 * What the relay counts: plain numbers, moved while bytes pass and read when somebody asks. No label names a
 * supplier.
 */
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** How a request came out, as those who watch the service count it. */
export interface Outcome {
  readonly protocol: Protocol
  /** The status the client was told; 499 when it left before being told one. */
  readonly status: number
  /** `broken` is a stream that ended in an error after its 200; `left` is a client that did not wait for the end. */
  readonly ending: "complete" | "refused" | "broken" | "left"
}

export interface FinishedRequests extends Outcome {
  readonly count: number
}

/** A request that is over. Milliseconds are from its acceptance. */
export interface FinishedRequest extends Outcome {
  /** To its first delta; absent when there was none. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export class RelayCounters {
  /** Requests whose program has not ended yet, settlement included. */
  openRequests = 0
  /** Event streams on their way to a client. */
  openStreams = 0
  /** Exchanges with suppliers that are not over. */
  openExchanges = 0
  /** Bytes of request bodies held in memory. */
  bodyBytes = 0
  /** Bytes of pictures held in memory, sources and results, with the forms they came in. */
  imageBytes = 0
  /** Bytes of answers handed to sockets, without headers. */
  answerBytes = 0
  /** Content deltas written to clients. */
  deltas = 0
  /** Told of every request that is over. */
  onFinished: (request: FinishedRequest) => void = () => {}
  readonly #finished = new Map<string, FinishedRequests>()

  finished(request: FinishedRequest): void {
    const { ending, protocol, status } = request
    const key = `${protocol} ${status} ${ending}`
    this.#finished.set(key, { protocol, status, ending, count: (this.#finished.get(key)?.count ?? 0) + 1 })
    this.onFinished(request)
  }

  get finishedRequests(): ReadonlyArray<FinishedRequests> {
    return [...this.#finished.values()]
  }
}

export class RelayMetrics extends Context.Tag("@tollgate/adapters-http/RelayMetrics")<RelayMetrics, RelayCounters>() {}

export const layer: Layer.Layer<RelayMetrics> = Layer.sync(RelayMetrics, () => new RelayCounters())
