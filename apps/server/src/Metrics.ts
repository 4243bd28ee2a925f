/**
 * What this node counts, as Prometheus text on a port of its own that only this machine reaches. No label names a supplier,
 * a key or a customer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { RelayMetrics } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { InferenceLedger, type LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"

/** A port that is taken is no reason not to serve; it is said, and the node goes on without metrics. */
export const layer = (port: number): Layer.Layer<never, never, RelayMetrics | InferenceLedger> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const counters = yield* RelayMetrics
      const { load } = yield* InferenceLedger
      const registry = new Registry()
      collectDefaultMetrics({ register: registry })
      countRequests(registry, counters)
      gauge(
        registry,
        "tollgate_open_requests",
        "Requests not ended yet, their settlement included.",
        () => counters.openRequests
      )
      gauge(registry, "tollgate_open_streams", "Event streams on their way to a client.", () => counters.openStreams)
      gauge(
        registry,
        "tollgate_open_exchanges",
        "Exchanges with suppliers that are not over.",
        () => counters.openExchanges
      )
      gauge(registry, "tollgate_request_body_bytes", "Bytes of request bodies in memory.", () => counters.bodyBytes)
      gauge(registry, "tollgate_image_bytes", "Bytes of images and their forms in memory.", () => counters.imageBytes)
      counter(
        registry,
        "tollgate_answer_bytes_total",
        "Bytes of answers handed to sockets.",
        () => counters.responseBytes
      )
      counter(registry, "tollgate_deltas_total", "Content deltas written to clients.", () => counters.deltas)
      countLedger(registry, load)
      yield* serve(registry, port)
    })
  )

const serve = (registry: Registry, port: number) => {
  const server = createServer((request, response) => void answer(registry, request, response))
  return Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.logWarning(`no metrics: port ${port} cannot be used (${error.code}); set METRICS_PORT`))
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

const answer = async (registry: Registry, { method, url }: IncomingMessage, response: ServerResponse) => {
  const found = method === "GET" && url === "/metrics"
  const page = found ? await registry.metrics() : ""
  response.writeHead(found ? 200 : 404, { "content-type": registry.contentType })
  response.end(page)
}

/** In seconds. From what a cache answers in to the longest request there may be. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

const countRequests = (registry: Registry, counters: RelayCounters) => {
  const registers = [registry]
  new Counter({
    name: "tollgate_requests_total",
    help: "Relayed requests that ended, by protocol, status told and ending.",
    labelNames: ["protocol", "status", "ending"],
    registers,
    collect() {
      this.reset()
      for (const { count, ...labels } of counters.finishedRequests) this.inc(labels, count)
    }
  })
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["protocol"], buckets: DURATIONS, registers })
  const duration = histogram("tollgate_request_duration_seconds", "From the acceptance of a request to its settlement.")
  const ttft = histogram("tollgate_time_to_first_token_seconds", "From the acceptance of a request to its first delta.")
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
  counter(registry, "tollgate_ledger_transactions_total", "Transactions of the ledger.", () => load().transactions)
  counter(
    registry,
    "tollgate_ledger_transaction_seconds_total",
    "Time that the transactions of the ledger took.",
    () => load().transactionMillis / 1_000
  )
}

/** Of a number that is kept elsewhere. */
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
