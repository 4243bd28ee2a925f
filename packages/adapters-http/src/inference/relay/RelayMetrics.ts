/**
 * The counters of the relay: plain numbers, changed while bytes pass and read by the metrics port. No label names a
 * provider.
 */
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { ReservedMemory } from "../../http/MemoryReservation.ts"

/** The outcome of a request, as the metrics count it. */
export interface Outcome {
  readonly protocol: Protocol
  /** The status that the client received; 499 when it disconnected before. */
  readonly status: number
  /** `broken` is a stream that ended in an error after its 200; `left` means that the client disconnected before the end. */
  readonly ending: "complete" | "refused" | "broken" | "left"
}

export interface FinishedRequests extends Outcome {
  readonly count: number
}

/** A request that is over. Milliseconds are from its acceptance. */
export interface FinishedRequest extends Outcome {
  /** To the first delta; absent when there was none. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export class RelayCounters {
  /** Requests that have not ended, settlement included. */
  openRequests = 0
  /** Event streams on their way to a client. */
  openStreams = 0
  /** Exchanges with providers that are not over. */
  openExchanges = 0
  /** Request bodies in memory. */
  readonly bodyMemory = new ReservedMemory()
  /** Images in memory, sources and results, with the forms that contain them. */
  readonly imageMemory = new ReservedMemory()
  /** Bytes of responses given to sockets, without headers. */
  responseBytes = 0
  /** Content deltas written to clients. */
  deltas = 0
  /** Called for every request that is over. */
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
