/**
 * Registers the metrics of this node, and serves metrics as Prometheus text on a separate port on loopback. No label
 * names a provider, a key or a customer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { RelayMetrics } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { InferenceLedger, type LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import { type WriteOffSums, WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import { floorToUsd } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"

/** Something that writes metrics as text: the registry of this node, or the sums of several nodes. */
export interface MetricsSource {
  readonly contentType: string
  readonly metrics: () => Promise<string>
}

/** Serves the metrics of this node on `port`. */
export const layer = (port: number): Layer.Layer<never, never, RelayMetrics | InferenceLedger> =>
  Layer.scopedDiscard(Effect.flatMap(nodeMetrics, (registry) => serve(registry, port)))

/** Registers the metrics of this node. */
export const nodeMetrics: Effect.Effect<Registry, never, RelayMetrics | InferenceLedger> = Effect.gen(function* () {
  const counters = yield* RelayMetrics
  const { load } = yield* InferenceLedger
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  countRequests(registry, counters)
  gauge(
    registry,
    "tollgate_open_requests",
    "Requests that are running or whose settlement is not complete.",
    () => counters.openRequests
  )
  gauge(registry, "tollgate_open_streams", "Open event streams to clients.", () => counters.openStreams)
  gauge(
    registry,
    "tollgate_open_exchanges",
    "Open exchanges (request and response) with providers.",
    () => counters.openExchanges
  )
  gauge(registry, "tollgate_request_body_bytes", "Bytes of request bodies in memory.", () => counters.bodyBytes)
  gauge(
    registry,
    "tollgate_image_bytes",
    "Bytes of images and of image request forms in memory.",
    () => counters.imageBytes
  )
  counter(
    registry,
    "tollgate_answer_bytes_total",
    "Bytes of responses written to sockets.",
    () => counters.responseBytes
  )
  counter(registry, "tollgate_deltas_total", "Content deltas written to clients.", () => counters.deltas)
  countLedger(registry, load)
  countWriteOffs(registry, yield* WriteOffs)
  return registry
})

/** Serves metrics on `port`. If the port cannot be used, the process logs a warning and runs without metrics. */
export const serve = (source: MetricsSource, port: number): Effect.Effect<void, never, Scope.Scope> => {
  const server = createServer((request, response) => void respond(source, request, response))
  return Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.logWarning(`metrics are off: port ${port} cannot be used (${error.code}); set METRICS_PORT`))
      )
      server.listen(port, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
}

const respond = async (source: MetricsSource, { method, url }: IncomingMessage, response: ServerResponse) => {
  const found = method === "GET" && url === "/metrics"
  const page = found ? await source.metrics() : ""
  response.writeHead(found ? 200 : 404, { "content-type": source.contentType })
  response.end(page)
}

/** Histogram bucket bounds in seconds. The longest requests take about ten minutes. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

const countRequests = (registry: Registry, counters: RelayCounters) => {
  const registers = [registry]
  new Counter({
    name: "tollgate_requests_total",
    help: "Inference requests that ended, by protocol, response status and ending.",
    labelNames: ["protocol", "status", "ending"],
    registers,
    collect() {
      this.reset()
      for (const { count, ...labels } of counters.finishedRequests) this.inc(labels, count)
    }
  })
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["protocol"], buckets: DURATIONS, registers })
  const duration = histogram(
    "tollgate_request_duration_seconds",
    "Seconds from the acceptance of a request to its settlement."
  )
  const ttft = histogram(
    "tollgate_time_to_first_token_seconds",
    "Seconds from the acceptance of a request to its first delta."
  )
  counters.onFinished = ({ durationMillis, protocol, ttftMillis }) => {
    duration.observe({ protocol }, durationMillis / 1_000)
    if (ttftMillis !== undefined) ttft.observe({ protocol }, ttftMillis / 1_000)
  }
}

const countLedger = (registry: Registry, load: () => LedgerLoad) => {
  gauge(
    registry,
    "tollgate_ledger_waiting_admissions",
    "Requests whose hold is not durable yet.",
    () => load().waitingAdmissions
  )
  gauge(registry, "tollgate_ledger_unsettled", "Settlements that are not durable yet.", () => load().unsettled)
  counter(
    registry,
    "tollgate_ledger_transactions_total",
    "Database transactions of the ledger.",
    () => load().transactions
  )
  counter(
    registry,
    "tollgate_ledger_transaction_seconds_total",
    "Total duration, in seconds, of the database transactions of the ledger.",
    () => load().transactionMillis / 1_000
  )
}

const countWriteOffs = (registry: Registry, sums: WriteOffSums) =>
  new Counter({
    name: "tollgate_written_off_usd_total",
    help: "USD written off because the cost of requests exceeded the balances, by reason.",
    labelNames: ["reason"],
    registers: [registry],
    collect() {
      this.reset()
      for (const reason of writeOffReasons) this.inc({ reason }, Number(floorToUsd(sums.of(reason))))
    }
  })

/** Registers a gauge that calls `value` each time the metrics are read. */
const gauge = (registry: Registry, name: string, help: string, value: () => number) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    }
  })

const counter = (registry: Registry, name: string, help: string, value: () => number) =>
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(value())
    }
  })
