/**
 * Registers the metrics of providers, top-ups, webhooks, background tasks, database connections and the version of the program.
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
    "State of a provider's circuit breaker: 0 closed, 1 half open, 2 open. With workers, the largest value.",
    ["provider"],
    () => all().map(({ breaker, labels }) => ({ labels, value: BREAKER_VALUES[breaker] })),
    "max"
  )
  gauges(registry, "tollgate_provider_open_exchanges", "Open exchanges with a provider.", ["provider"], () =>
    all().map(({ labels, open }) => ({ labels, value: open }))
  )
  gauges(
    registry,
    "tollgate_provider_max_exchanges",
    "The limit of open exchanges with a provider.",
    ["provider"],
    () => all().map(({ labels, maxConcurrency }) => ({ labels, value: maxConcurrency }))
  )
}

export const registerTopUps = (registry: Registry, { all, webhooks }: TopUpCounters): void => {
  counters(registry, "tollgate_topups_total", "Top-ups, by method and outcome.", ["method", "outcome"], () =>
    all.flatMap(({ method, outcomes }) =>
      topUpOutcomes.map((outcome) => ({ labels: { method, outcome }, value: outcomes[outcome] }))
    )
  )
  counters(
    registry,
    "tollgate_topup_alerts_total",
    "Observations of payments that an operator must inspect.",
    ["method"],
    () => all.map(({ alerts, method }) => ({ labels: { method }, value: alerts }))
  )
  counters(
    registry,
    "tollgate_payment_webhooks_total",
    "Webhooks of payment providers, by provider and outcome.",
    ["provider", "outcome"],
    () =>
      [...webhooks].flatMap(([provider, outcomes]) =>
        webhookOutcomes.map((outcome) => ({ labels: { provider, outcome }, value: outcomes[outcome] }))
      )
  )
  counters(registry, "tollgate_topup_credited_usd_total", "USD of quota credited by top-ups.", ["method"], () =>
    all.map(({ creditedUsdMicro, method }) => ({ labels: { method }, value: Number(creditedUsdMicro) / 1e6 }))
  )
}

export const registerWebhooks = (registry: Registry, counts: WebhookCounters): void => {
  counters(
    registry,
    "tollgate_webhook_deliveries_total",
    "Attempts to deliver webhooks, by outcome.",
    ["outcome"],
    () => deliveryOutcomes.map((outcome) => ({ labels: { outcome }, value: counts.outcomes[outcome] }))
  )
  gauges(
    registry,
    "tollgate_webhook_oldest_undelivered_seconds",
    "Age of the oldest event that waits to be delivered in this deployment; 0 if none waits.",
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
    "Rounds of a background task, by result.",
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
    "Unix time of the last success of a background task; of its start before the first success. With workers, the oldest.",
    ["task"],
    () => runs.all.map(({ lastSuccessMillis, task }) => ({ labels: { task }, value: lastSuccessMillis / 1_000 })),
    "min"
  )
  gauges(
    registry,
    "tollgate_background_task_interval_seconds",
    "Seconds between two rounds of a background task.",
    ["task"],
    () => runs.all.map(({ intervalMillis, task }) => ({ labels: { task }, value: intervalMillis / 1_000 })),
    "max"
  )
}

export const registerPools = (registry: Registry, pools: OpenPools): void => {
  gauges(
    registry,
    "tollgate_database_connections",
    "Open connections of a database pool, by state.",
    ["pool", "state"],
    () =>
      pools.loads.flatMap(({ idle, name, open }) => [
        { labels: { pool: name, state: "idle" }, value: idle },
        { labels: { pool: name, state: "used" }, value: open - idle }
      ])
  )
  gauges(registry, "tollgate_database_connections_max", "The limit of a database pool.", ["pool"], () =>
    pools.loads.map(({ max, name }) => ({ labels: { pool: name }, value: max }))
  )
  gauges(
    registry,
    "tollgate_database_waiting",
    "Callers that wait for a connection of a database pool.",
    ["pool"],
    () => pools.loads.map(({ name, waiting }) => ({ labels: { pool: name }, value: waiting }))
  )
}

export const registerVersion = (registry: Registry): void => {
  const labels = { version: versionOfServer(), node_version: process.version }
  gauges(
    registry,
    "tollgate_build_info",
    "1, with the version of the program and of Node.js.",
    ["version", "node_version"],
    () => [{ labels, value: 1 }],
    "first"
  )
}

/** Returns the version in the server's package.json; `unknown` in a bundle without this file. */
const versionOfServer = (): string => {
  try {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    return typeof version === "string" ? version : "unknown"
  } catch {
    return "unknown"
  }
}
