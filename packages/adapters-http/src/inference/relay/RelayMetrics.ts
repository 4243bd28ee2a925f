/**
 * The relay's counters: plain numbers, which change while bytes pass and which the metrics port reads. No label names a
 * provider.
 */
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { ReservedMemory } from "../../http/MemoryReservation.ts"

/** The outcome of a request, as counted by the metrics. */
export interface Outcome {
  readonly protocol: Protocol
  /** The status that the client received; 499 if the client disconnected earlier. */
  readonly status: number
  /** `broken`: the stream ended with an error after status 200. `left`: the client disconnected before the end. */
  readonly ending: "complete" | "refused" | "broken" | "left"
}

export interface FinishedRequests extends Outcome {
  readonly count: number
}

/** A request that is over. Its times are in milliseconds since acceptance. */
export interface FinishedRequest extends Outcome {
  /** The time to the first delta; undefined without a delta. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export class RelayCounters {
  /** The number of requests that have not ended, including their settlement. */
  openRequests = 0
  /** The number of event streams that are being sent to clients. */
  openStreams = 0
  /** The number of open exchanges with providers. */
  openExchanges = 0
  /** The memory reserved for request bodies. */
  readonly bodyMemory = new ReservedMemory()
  /** The memory reserved for forms, source images and image responses. */
  readonly imageMemory = new ReservedMemory()
  /** The number of response bytes written to sockets, without headers. */
  responseBytes = 0
  /** The number of content deltas written to clients. */
  deltas = 0
  /** Is called for every request that is over. */
  onFinished: (request: FinishedRequest) => void = () => {}
  readonly #finished = new Map<string, FinishedRequests>()

  get bodyBytes(): number {
    return this.bodyMemory.bytes
  }

  get imageBytes(): number {
    return this.imageMemory.bytes
  }

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
