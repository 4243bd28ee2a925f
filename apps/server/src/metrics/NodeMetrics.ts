/**
 * Registers the metrics of this node. Their labels name models, providers, payment methods and payment providers, but
 * no API key, customer or reseller.
 */
import { defaultSettings } from "@tollgate/adapters-http/images/ImagesRoutes"
import type { FinishedRequest, RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { RelayMetrics } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { defaults } from "@tollgate/adapters-http/server/GatewayOptions"
import { TaskRuns } from "@tollgate/application/background/TaskRuns"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import { InferenceLedger, type LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import { Traffic } from "@tollgate/application/ledger/Traffic"
import { type WriteOffSums, WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { DatabasePools } from "@tollgate/application/operations/DatabasePools"
import { TopUpCounts } from "@tollgate/application/topup/TopUpCounts"
import { WebhookCounts } from "@tollgate/application/webhook/WebhookCounts"
import { writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import { floorToUsd } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client"
import { counter, gauge } from "./Instruments.ts"
import {
  registerPools,
  registerProviders,
  registerTasks,
  registerTopUps,
  registerVersion,
  registerWebhooks
} from "./OperationMetrics.ts"
import { registerTraffic } from "./TrafficMetrics.ts"

export const nodeMetrics: Effect.Effect<Registry, never, RelayMetrics | InferenceLedger | Upstreams | CurrentCatalog> =
  Effect.gen(function* () {
    const counters = yield* RelayMetrics
    const { load } = yield* InferenceLedger
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    countRequests(registry, counters)
    gauge(
      registry,
      "tollgate_open_requests",
      "Requests whose response has not ended or whose settlement is not queued.",
      () => counters.openRequests
    )
    gauge(registry, "tollgate_open_streams", "Open event streams to clients.", () => counters.openStreams)
    gauge(
      registry,
      "tollgate_open_exchanges",
      "Open exchanges (request and response) with providers.",
      () => counters.openExchanges
    )
    gauge(
      registry,
      "tollgate_request_body_bytes",
      "Bytes reserved for the bodies of inference requests, except image requests.",
      () => counters.bodyBytes
    )
    gauge(
      registry,
      "tollgate_image_bytes",
      "Bytes reserved for image forms, source images and image responses.",
      () => counters.imageBytes
    )
    gauge(
      registry,
      "tollgate_request_body_limit_bytes",
      "The limit of the bytes reserved for the bodies of inference requests, except image requests.",
      () => defaults.allBodiesBytes
    )
    gauge(
      registry,
      "tollgate_image_limit_bytes",
      "The limit of the bytes reserved for image forms, source images and image responses.",
      () => defaultSettings.allImageBytes
    )
    counter(
      registry,
      "tollgate_answer_bytes_total",
      "Bytes of the responses to inference requests, except image requests, that were written to sockets.",
      () => counters.responseBytes
    )
    counter(registry, "tollgate_deltas_total", "Content deltas delivered to clients.", () => counters.deltas)
    countLedger(registry, load)
    countWriteOffs(registry, yield* WriteOffs)
    const catalog = yield* CurrentCatalog
    registerTraffic(registry, yield* Traffic, catalog.get)
    registerProviders(registry, (yield* Upstreams).loads, catalog.get)
    registerTopUps(registry, yield* TopUpCounts)
    registerWebhooks(registry, yield* WebhookCounts)
    registerTasks(registry, yield* TaskRuns)
    registerPools(registry, yield* DatabasePools)
    registerVersion(registry)
    return registry
  })

/** Histogram bucket bounds in seconds. */
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
    "Seconds from the acceptance of a request to the end of its response."
  )
  const ttft = histogram(
    "tollgate_time_to_first_token_seconds",
    "Seconds from the acceptance of a request to its first delta."
  )
  const onFinished = ({ durationMillis, protocol, ttftMillis }: FinishedRequest) => {
    duration.observe({ protocol }, durationMillis / 1_000)
    if (ttftMillis !== undefined) ttft.observe({ protocol }, ttftMillis / 1_000)
  }
  counters.onFinished = onFinished
}

const countLedger = (registry: Registry, load: () => LedgerLoad) => {
  gauge(
    registry,
    "tollgate_ledger_waiting_admissions",
    "Requests whose admission is not durable yet.",
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
