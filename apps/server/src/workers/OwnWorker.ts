/**
 * Connects a worker to its primary process.
 */
import cluster from "node:cluster"
import * as Effect from "effect/Effect"
import type { Registry } from "prom-client"
import { type FromWorker, type ReadMetrics, WORKER_VARIABLE } from "./WorkerMessage.ts"

/**
 * The number of this worker; undefined if this process is not a worker of Tollgate. A process manager that runs
 * Tollgate with node:cluster starts workers without this number.
 */
export const ownNumber: string | undefined = cluster.isWorker ? process.env[WORKER_VARIABLE] : undefined

/** Drains this worker when its primary process has ended. By default, node:cluster would end the worker immediately. */
export const drainWithoutPrimary = (): void => {
  const { worker } = cluster
  worker?.on("disconnect", () => {
    // Without this flag, node:cluster would end the process.
    worker.exitedAfterDisconnect = true
    process.kill(process.pid, "SIGTERM")
  })
}

/**
 * Sends a message to the primary process, and waits until the message is written. Does nothing if that process has
 * ended.
 */
export const report = (message: FromWorker): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (process.send === undefined || !process.connected) return resume(Effect.void)
    process.send(message, undefined, undefined, () => resume(Effect.void))
  })

/** Sends the metrics of this worker to the primary process when the primary process requests them. */
export const sendMetricsOnRequest = (registry: Registry): Effect.Effect<void> =>
  Effect.sync(() => {
    process.on("message", ({ _tag, request }: ReadMetrics) => {
      if (_tag !== "ReadMetrics") return
      const send = Effect.flatMap(
        Effect.promise(() => registry.getMetricsAsJSON()),
        (metrics) => report({ _tag: "Metrics", request, metrics })
      )
      Effect.runFork(send)
    })
  })
