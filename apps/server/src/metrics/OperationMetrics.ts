/**
 * Registers the metrics of providers, top-ups, webhooks, background tasks and database connections, and the metric of
 * the server's version.
 */
import { readFileSync } from "node:fs"
import type { TaskRunCounters } from "@tollgate/application/background/TaskRuns"
import type { ProviderLoad } from "@tollgate/application/inference/Upstreams"
import type { OpenPools } from "@tollgate/application/operations/DatabasePools"
import { type TopUpCounters, topUpOutcomes, webhookOutcomes } from "@tollgate/application/topup/TopUpCounts"
import { deliveryOutcomes, type WebhookCounters } from "@tollgate/application/webhook/WebhookCounts"
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import type { Registry } from "prom-client"
import { counters, gauges } from "./Instruments.ts"

const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 } as const

export const registerProviders = (
  registry: Registry,
  loads: () => ReadonlyArray<ProviderLoad>,
  catalog: () => Catalog
): void => {
  /** Returns the load of every provider of the catalog. A provider that `loads` does not list is idle. */
  const all = () => {
    const known = new Map(loads().map((load) => [load.provider, load]))
    return [...catalog().providers.values()].map(({ maxConcurrency, name }) => {
      const { breaker, open } = known.get(name) ?? { breaker: "closed" as const, open: 0 }
      return { labels: { provider: name }, breaker, open, maxConcurrency }
    })
  }
  gauges(
    registry,
    "tollgate_breaker_state",
    "State of a provider's circuit breaker: 0 is closed, 1 is half open, 2 is open. A server with workers reports the largest value of its workers.",
    ["provider"],
    () => all().map(({ breaker, labels }) => ({ labels, value: BREAKER_VALUES[breaker] })),
    "max"
  )
  gauges(registry, "tollgate_provider_open_exchanges", "Number of open exchanges with a provider.", ["provider"], () =>
    all().map(({ labels, open }) => ({ labels, value: open }))
  )
  gauges(
    registry,
    "tollgate_provider_max_exchanges",
    "Maximum number of open exchanges with a provider.",
    ["provider"],
    () => all().map(({ labels, maxConcurrency }) => ({ labels, value: maxConcurrency }))
  )
}

export const registerTopUps = (registry: Registry, { all, webhooks }: TopUpCounters): void => {
  counters(
    registry,
    "tollgate_topups_total",
    "Number of top-up orders that reached an outcome, by payment method and outcome.",
    ["method", "outcome"],
    () =>
      all.flatMap(({ method, outcomes }) =>
        topUpOutcomes.map((outcome) => ({ labels: { method, outcome }, value: outcomes[outcome] }))
      )
  )
  counters(
    registry,
    "tollgate_topup_alerts_total",
    "Number of observations and webhooks because of which an operator must inspect a payment, by payment method.",
    ["method"],
    () => all.map(({ alerts, method }) => ({ labels: { method }, value: alerts }))
  )
  counters(
    registry,
    "tollgate_payment_webhooks_total",
    "Number of webhooks from payment providers, by provider and outcome.",
    ["provider", "outcome"],
    () =>
      [...webhooks].flatMap(([provider, outcomes]) =>
        webhookOutcomes.map((outcome) => ({ labels: { provider, outcome }, value: outcomes[outcome] }))
      )
  )
  counters(
    registry,
    "tollgate_topup_credited_usd_total",
    "Quota that was credited for top-ups, in USD, by payment method.",
    ["method"],
    () => all.map(({ creditedUsdMicro, method }) => ({ labels: { method }, value: Number(creditedUsdMicro) / 1e6 }))
  )
}

export const registerWebhooks = (registry: Registry, counts: WebhookCounters): void => {
  counters(
    registry,
    "tollgate_webhook_deliveries_total",
    "Number of attempts to deliver webhooks, by outcome.",
    ["outcome"],
    () => deliveryOutcomes.map((outcome) => ({ labels: { outcome }, value: counts.outcomes[outcome] }))
  )
  gauges(
    registry,
    "tollgate_webhook_oldest_undelivered_seconds",
    "Age of the oldest event that waits to be delivered to an enabled endpoint of this deployment; 0 if none waits.",
    [],
    () => [{ labels: {}, value: counts.backlog.oldestSeconds }],
    "max"
  )
  gauges(
    registry,
    "tollgate_webhook_overdue_seconds",
    "Time for which the first due attempt in this deployment has waited for a server; 0 if none waits.",
    [],
    () => [{ labels: {}, value: counts.backlog.overdueSeconds }],
    "max"
  )
}

export const registerTasks = (registry: Registry, runs: TaskRunCounters): void => {
  counters(
    registry,
    "tollgate_background_task_runs_total",
    "Number of rounds of a background task, by result.",
    ["task", "result"],
    () =>
      runs.all.flatMap(({ failed, succeeded, task }) => [
        { labels: { task, result: "success" }, value: succeeded },
        { labels: { task, result: "failure" }, value: failed }
      ])
  )
  gauges(
    registry,
    "tollgate_background_task_last_success_timestamp_seconds",
    "Unix time of the last successful round of a background task. Before the first successful round, this is the time at which the task started. A server with workers reports the oldest time of its workers.",
    ["task"],
    () => runs.all.map(({ lastSuccessMillis, task }) => ({ labels: { task }, value: lastSuccessMillis / 1_000 })),
    "min"
  )
  gauges(
    registry,
    "tollgate_background_task_interval_seconds",
    "Time between the end of one round of a background task and the start of the next round, in seconds.",
    ["task"],
    () => runs.all.map(({ intervalMillis, task }) => ({ labels: { task }, value: intervalMillis / 1_000 })),
    "max"
  )
}

export const registerPools = (registry: Registry, pools: OpenPools): void => {
  gauges(
    registry,
    "tollgate_database_connections",
    "Number of open connections of a database pool, by state.",
    ["pool", "state"],
    () =>
      pools.loads.flatMap(({ idle, name, open }) => [
        { labels: { pool: name, state: "idle" }, value: idle },
        { labels: { pool: name, state: "used" }, value: open - idle }
      ])
  )
  gauges(
    registry,
    "tollgate_database_connections_max",
    "Maximum number of connections of a database pool.",
    ["pool"],
    () => pools.loads.map(({ max, name }) => ({ labels: { pool: name }, value: max }))
  )
  gauges(
    registry,
    "tollgate_database_waiting",
    "Number of callers that wait for a connection of a database pool.",
    ["pool"],
    () => pools.loads.map(({ name, waiting }) => ({ labels: { pool: name }, value: waiting }))
  )
}

export const registerVersion = (registry: Registry): void => {
  const labels = { version: versionOfServer(), node_version: process.version }
  gauges(
    registry,
    "tollgate_build_info",
    "Always 1. The labels contain the version of the server and the version of Node.js.",
    ["version", "node_version"],
    () => [{ labels, value: 1 }],
    "first"
  )
}

/**
 * Returns the version in the server's package.json. Returns `unknown` if this file cannot be read, for example because
 * a bundle does not contain it, or if it has no version.
 */
const versionOfServer = (): string => {
  try {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    return typeof version === "string" ? version : "unknown"
  } catch {
    return "unknown"
  }
}
