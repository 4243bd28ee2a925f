/**
 * Represents one worker in the primary process.
 */
import cluster, { type Worker } from "node:cluster"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import {
  type Address,
  type FromWorker,
  type ProcessMetrics,
  type ReadMetrics,
  WORKER_VARIABLE
} from "./WorkerMessage.ts"

/** How a process ended: with an exit code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

/**
 * The maximum time for reading the metrics of a worker. A worker that needs longer probably has a blocked event loop.
 */
const METRICS_TIMEOUT_MILLIS = 1_000

export class WorkerProcess {
  readonly number: number
  readonly #worker: Worker
  readonly #ended: Promise<ProcessEnd>
  readonly #reads = new Map<number, (metrics: ProcessMetrics) => void>()
  #node: NodeId | undefined
  #startError: string | undefined
  #metrics: ProcessMetrics = []
  #lastRead = 0

  /** Starts a worker. `onServing` is called when the worker accepts connections. */
  constructor(number: number, environment: Readonly<Record<string, string>>, onServing: (address: Address) => void) {
    this.number = number
    this.#worker = cluster.fork({ ...environment, [WORKER_VARIABLE]: String(number) })
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code: number | null, signal: string | null) => resolve({ code, signal }))
      // If the process could not be started, this event is the only sign of its end. A message to a worker that has
      // just died causes this event too, but the event `exit` follows it.
      this.#worker.on("error", () => {
        if (this.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    this.#worker.on("message", (message: FromWorker) => {
      switch (message._tag) {
        case "Serving":
          this.#node = message.node
          return onServing(message.address)
        case "StartFailed":
          this.#startError = message.message
          return
        case "Metrics":
          this.#metrics = message.metrics
          return this.#reads.get(message.request)?.(message.metrics)
      }
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** The node of this worker; undefined until the worker serves. */
  get node(): NodeId | undefined {
    return this.#node
  }

  /** The reason for which the worker could not start, if it reported one. */
  get startError(): string | undefined {
    return this.#startError
  }

  /** The metrics that the worker sent last. */
  get lastMetrics(): ProcessMetrics {
    return this.#metrics
  }

  /** Waits until the process has ended. */
  readonly ended: Effect.Effect<ProcessEnd> = Effect.promise(() => this.#ended)

  /** Tells the worker to drain, and waits until its process has ended. */
  readonly stop: Effect.Effect<unknown> = Effect.zipRight(
    Effect.sync(() => this.#worker.process.kill("SIGTERM")),
    this.ended
  )

  /**
   * Reads the current metrics of the worker. Returns the previous metrics if the worker does not respond in time or is
   * disconnected.
   */
  readMetrics(): Promise<ProcessMetrics> {
    const request: ReadMetrics = { _tag: "ReadMetrics", request: ++this.#lastRead }
    return new Promise((resolve) => {
      const done = (metrics: ProcessMetrics) => {
        clearTimeout(timeout)
        this.#reads.delete(request.request)
        resolve(metrics)
      }
      const timeout = setTimeout(() => done(this.#metrics), METRICS_TIMEOUT_MILLIS)
      this.#reads.set(request.request, done)
      if (this.#worker.isConnected()) this.#worker.send(request, () => {})
      else done(this.#metrics)
    })
  }
}
