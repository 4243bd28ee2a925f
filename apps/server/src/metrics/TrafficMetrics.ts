/**
 * Registers the metrics of requests, tokens, money and latency by model and provider.
 */
import {
  attemptFailures,
  endings,
  type RouteTraffic,
  type TokenClass,
  type TrafficCounters,
  tokenClasses
} from "@tollgate/application/ledger/Traffic"
import type { LatencyHistogram } from "@tollgate/application/operations/LatencyHistogram"
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import { Histogram, type Registry } from "prom-client"
import { counters, type Sample } from "./Instruments.ts"

type RouteLabel = "model" | "provider"
const ROUTE = ["model", "provider"] as const

/** Registers the metrics. Every route of the current catalog has its counters from the start. */
export const registerTraffic = (registry: Registry, traffic: TrafficCounters, catalog: () => Catalog): void => {
  const routes = (): ReadonlyArray<RouteTraffic> => {
    traffic.prepare(catalog())
    return traffic.routes
  }
  /** Registers one counter for each route. */
  const perRoute = (name: string, help: string, value: (route: RouteTraffic) => number) =>
    counters(registry, name, help, ROUTE, () =>
      routes().map((route): Sample<RouteLabel> => ({ labels: labelsOf(route), value: value(route) }))
    )
  /** Registers one counter for each route and each value of another label. */
  const perPart = <const Label extends string>(
    name: string,
    help: string,
    label: Label,
    parts: (route: RouteTraffic) => ReadonlyArray<readonly [part: string, value: number]>
  ) =>
    counters<RouteLabel | Label>(registry, name, help, [...ROUTE, label], () =>
      routes().flatMap((route) =>
        parts(route).map(([part, value]) => ({
          labels: { ...labelsOf(route), [label]: part } as Record<RouteLabel | Label, string>,
          value
        }))
      )
    )

  perRoute("tollgate_attempts_total", "Attempts of requests on a route.", ({ attempts }) => attempts)
  perPart("tollgate_attempt_failures_total", "Attempts that failed, by reason.", "reason", ({ failures }) =>
    attemptFailures.map((failure) => [snakeCase(failure), failures[failure]])
  )
  perRoute(
    "tollgate_fallbacks_total",
    "Failed attempts after which the request was tried on another route.",
    ({ fallbacks }) => fallbacks
  )
  perPart(
    "tollgate_settled_requests_total",
    "Settled requests, by the ending in the settlement.",
    "ending",
    ({ requests }) => endings.filter((ending) => ending !== "orphaned").map((ending) => [ending, requests[ending]])
  )
  perPart("tollgate_charged_tokens_total", "Charged tokens, by token class.", "class", ({ charged }) =>
    byClass(charged)
  )
  perPart(
    "tollgate_operator_loss_tokens_total",
    "Tokens that a provider has used and that are not charged, by token class.",
    "class",
    ({ lost }) => byClass(lost)
  )
  perRoute("tollgate_operator_loss_usd_total", "Operator loss in USD, at the prices of the requests.", ({ lostPico }) =>
    usd(lostPico)
  )
  perPart("tollgate_spend_usd_total", "USD paid by customers, by balance.", "balance", ({ paygPico, planPico }) => [
    ["plan", usd(planPico)],
    ["payg", usd(paygPico)]
  ])
  perRoute("tollgate_route_written_off_usd_total", "USD written off.", ({ writtenOffPico }) => usd(writtenOffPico))
  counters(
    registry,
    "tollgate_refusals_total",
    "Requests that were refused before they had a hold, by reason.",
    ["model", "reason"],
    () =>
      traffic.refusals.map(({ count, model, reason }) => ({
        labels: { model, reason: snakeCase(reason) },
        value: count
      }))
  )
  new LatencyMetric(
    registry,
    "tollgate_route_time_to_first_token_seconds",
    "Seconds from the acceptance of a streamed request to its first delta.",
    () => routes().map((route) => [route, route.firstToken])
  )
  new LatencyMetric(
    registry,
    "tollgate_route_time_per_token_seconds",
    "Seconds between two output tokens of a complete stream, on average.",
    () => routes().map((route) => [route, route.perToken])
  )
}

const labelsOf = ({ model, provider }: RouteTraffic): Record<RouteLabel, string> => ({ model, provider })

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter, at) => (at > 0 ? "_" : "") + letter.toLowerCase())

const byClass = (tokens: Readonly<Record<TokenClass, number>>): ReadonlyArray<readonly [string, number]> =>
  tokenClasses.map((each) => [snakeCase(each), tokens[each]])

/** Returns an amount in USD, rounded down to six decimals. Prometheus stores floating-point numbers. */
const usd = (pico: bigint): number => Number(floorToUsd(UsdPico(pico)))

/** Publishes histograms that the server computes itself. A route without observations has no histogram. */
class LatencyMetric extends Histogram<RouteLabel> {
  readonly #read: () => ReadonlyArray<readonly [RouteTraffic, LatencyHistogram]>
  readonly #about: { readonly name: string; readonly help: string }

  constructor(
    registry: Registry,
    name: string,
    help: string,
    read: () => ReadonlyArray<readonly [RouteTraffic, LatencyHistogram]>
  ) {
    super({ name, help, labelNames: [...ROUTE], registers: [registry] })
    this.#about = { name, help }
    this.#read = read
  }

  override get(): ReturnType<Histogram<RouteLabel>["get"]> {
    const values = this.#read().flatMap(([route, histogram]) =>
      histogram.count === 0 ? [] : bucketsOf(this.#about.name, labelsOf(route), histogram)
    )
    const metric: unknown = { ...this.#about, type: "histogram", values, aggregator: "sum" }
    return Promise.resolve(metric as Awaited<ReturnType<Histogram<RouteLabel>["get"]>>)
  }

  /** The registry calls this method when it writes the metrics as text. */
  getForPromString(): ReturnType<Histogram<RouteLabel>["get"]> {
    return this.get()
  }
}

const bucketsOf = (name: string, labels: Record<RouteLabel, string>, histogram: LatencyHistogram) => {
  let cumulated = 0
  const buckets = histogram.boundsMillis.map((bound, i) => {
    cumulated += histogram.counts[i] ?? 0
    return { labels: { le: bound / 1_000, ...labels }, value: cumulated, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { labels: { le: "+Inf", ...labels }, value: histogram.count, metricName: `${name}_bucket` },
    { labels, value: histogram.sumMillis / 1_000, metricName: `${name}_sum` },
    { labels, value: histogram.count, metricName: `${name}_count` }
  ]
}
