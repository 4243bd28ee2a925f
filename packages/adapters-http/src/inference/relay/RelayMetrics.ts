/**
 * `RelayCounters` contains the counters of the relay and of the routes for images as plain numbers. The relay and these
 * routes update the counters, and the metrics of the server read the counters. No label of these metrics contains the
 * name of a provider.
 */
import type { Protocol } from "@tollgate/domain/inference/InferenceRequest"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { ReservedMemory } from "../../http/MemoryReservation.ts"

/** The labels by which the metrics count finished requests. */
export interface Outcome {
  readonly protocol: Protocol
  /**
   * The HTTP status that was sent, or the status of a refusal that still waits to be written; 499 if there was no
   * status when the handling ended, for example because the client disconnected.
   */
  readonly status: number
  /**
   * `complete`: the response was sent to its end. `refused`: the status was not 200. `broken`: the stream ended with an
   * error after status 200. `left`: the client disconnected before the end of the response.
   */
  readonly ending: "complete" | "refused" | "broken" | "left"
}

export interface FinishedRequests extends Outcome {
  readonly count: number
}

/** A finished request. Both times are in milliseconds since its handling began. */
export interface FinishedRequest extends Outcome {
  /** The time until the first delta was written; undefined if no delta was written. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export class RelayCounters {
  /** The number of relayed requests and image requests that are not finished. */
  openRequests = 0
  /** The number of event streams that are being sent to clients. */
  openStreams = 0
  /** The number of open HTTP requests to providers, not counting requests for a token count. */
  openExchanges = 0
  /** The memory reserved for the request bodies of the relay. */
  readonly bodyMemory = new ReservedMemory()
  /** The memory reserved for the bodies, source images and responses of image requests. */
  readonly imageMemory = new ReservedMemory()
  /** The bytes of streams and whole responses that the relay wrote, not counting headers and chunk framing. */
  responseBytes = 0
  /** The number of content deltas that clients' sockets have accepted. */
  deltas = 0
  /** A callback that is called for each finished request. */
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
