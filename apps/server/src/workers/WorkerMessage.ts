/**
 * Defines the messages between the primary process and its workers.
 *
 * The primary process starts the workers and replaces a worker that dies. It serves no requests. Each worker is a node
 * with its own heartbeat, ledger queue and database connections.
 */
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { Registry } from "prom-client"

/** The environment variable in which the primary process passes the number of a worker, from 1 to WORKERS. */
export const WORKER_VARIABLE = "TOLLGATE_WORKER"

export interface Address {
  readonly host: string
  readonly port: number
}

/** The metrics of one process. prom-client can sum the metrics of several processes. */
export type ProcessMetrics = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>

export type FromWorker =
  | { readonly _tag: "Serving"; readonly address: Address; readonly node: NodeId }
  | { readonly _tag: "StartFailed"; readonly message: string }
  | { readonly _tag: "Metrics"; readonly request: number; readonly metrics: ProcessMetrics }

/** Requests the metrics of a worker. The worker sends `request` back with the metrics. */
export interface ReadMetrics {
  readonly _tag: "ReadMetrics"
  readonly request: number
}
