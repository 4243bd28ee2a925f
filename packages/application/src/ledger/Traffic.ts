/**
 * Counts the requests, the tokens and the money of this process by model and provider, for the metrics. The use cases
 * add attempts and refusals. The stores add the committed settlements of this node's requests. The settlements of a
 * sweep are not counted, because the provider of an orphaned request is not stored.
 *
 * Only models and providers of the catalog get their own counters, so a client cannot create any. The counters of a
 * route exist after its first request or after the first read of the metrics. Later requests find them with two
 * lookups.
 */
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { cost, type Price } from "@tollgate/domain/ledger/Price"
import type { Charge, Settlement } from "@tollgate/domain/ledger/Settlement"
import { toCount } from "@tollgate/domain/money/Tokens"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import { LatencyHistogram } from "../operations/LatencyHistogram.ts"

/**
 * The label of a model that is not in the catalog, and of the model and the provider of each route above `MAX_ROUTES`.
 */
export const OTHER = "other"
/** The provider label of requests that were sent to no provider. */
export const NO_PROVIDER = "none"

/**
 * The maximum number of routes with their own counters. It bounds the memory, because a process can load many catalogs
 * with different routes.
 */
const MAX_ROUTES = 10_000

export const endings: ReadonlyArray<Ending> = [
  "complete",
  "client_gone",
  "upstream_cut",
  "balance_exhausted",
  "failed",
  "orphaned"
]

/** Why an attempt failed: the tag of its error, or `defect` for an exception in the gateway. */
export const attemptFailures = [
  "UpstreamFailed",
  "UpstreamRejected",
  "TechnicalLimit",
  "RequestTooLarge",
  "Overloaded",
  "CircuitOpen",
  "InsufficientBalance",
  "KeyBudgetExceeded",
  "defect"
] as const
export type AttemptFailure = (typeof attemptFailures)[number]

export const tokenClasses = ["input", "cacheWrite", "cacheRead", "output"] as const
export type TokenClass = (typeof tokenClasses)[number]

/** The bucket bounds of the histogram of the times to the first token, in milliseconds. */
const FIRST_TOKEN_BOUNDS = [50, 100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 30_000, 60_000]
/** The bucket bounds of the histogram of the mean times between two tokens, in milliseconds. */
const TOKEN_BOUNDS = [1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1_000, 2_000]

/** The properties of a settled request that are counted. */
export interface CountedSettlement {
  readonly streamed: boolean
  readonly price: Price
  readonly ending: Ending
  readonly charge: Charge
  readonly settlement: Settlement
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

const zeros = <Name extends string>(names: ReadonlyArray<Name>): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>

/** The counters of one model at one provider. */
export class RouteTraffic {
  readonly model: string
  readonly provider: string
  attempts = 0
  readonly failures = zeros(attemptFailures)
  /** The number of failed attempts after which the request was tried on another route. */
  fallbacks = 0
  readonly requests = zeros(endings)
  readonly charged = zeros(tokenClasses)
  /** The tokens that were consumed and not charged: the operator loss. */
  readonly lost = zeros(tokenClasses)
  planPico = 0n
  paygPico = 0n
  writtenOffPico = 0n
  /** The operator loss at the prices that were valid at the admissions. */
  lostPico = 0n
  readonly firstToken = new LatencyHistogram(FIRST_TOKEN_BOUNDS)
  readonly perToken = new LatencyHistogram(TOKEN_BOUNDS)

  constructor(model: string, provider: string) {
    this.model = model
    this.provider = provider
  }

  attemptFailed(failure: AttemptFailure): void {
    this.failures[failure] += 1
  }

  settled({ charge, durationMillis, ending, price, settlement, streamed, ttftMillis }: CountedSettlement): void {
    this.requests[ending] += 1
    const { charged, consumed } = charge
    for (const each of tokenClasses) {
      const tokens = toCount(charged[each])
      this.charged[each] += tokens
      this.lost[each] += Math.max(0, toCount(consumed[each]) - tokens)
    }
    this.planPico += settlement.planValuePico
    this.paygPico += settlement.paygPico
    this.writtenOffPico += settlement.writeoffPico
    if (consumed !== charged) {
      const lostPico = cost(price, consumed) - settlement.costPico
      if (lostPico > 0n) this.lostPico += lostPico
    }
    if (ttftMillis === undefined || !streamed) return
    this.firstToken.observe(ttftMillis)
    const followingTokens = toCount(consumed.output) - 1
    if (ending === "complete" && followingTokens > 0) {
      this.perToken.observe((durationMillis - ttftMillis) / followingTokens)
    }
  }
}

export class TrafficCounters {
  readonly #routes = new Map<string, Map<string, RouteTraffic>>()
  readonly #refusals = new Map<string, Map<string, number>>()
  #routeCount = 0

  /** Returns the counters of a model at a provider. Routes above `MAX_ROUTES` share the counters of `OTHER`. */
  of(model: string, provider: string): RouteTraffic {
    return this.#routes.get(model)?.get(provider) ?? this.#add(model, provider)
  }

  /**
   * Counts an attempt. Also counts a fallback of the route `failed`, if the previous attempt of the request failed
   * there.
   */
  attempt(model: string, provider: string, failed: RouteTraffic | undefined): RouteTraffic {
    if (failed !== undefined) failed.fallbacks += 1
    const route = this.of(model, provider)
    route.attempts += 1
    return route
  }

  /** Counts a request that was refused before it had a hold, by the tag of its error. */
  refused(model: string, cause: Cause.Cause<{ readonly _tag: string }>): void {
    const reason = Option.match(Cause.failureOption(cause), { onNone: () => "defect", onSome: ({ _tag }) => _tag })
    const reasons = this.#refusals.get(model) ?? new Map<string, number>()
    this.#refusals.set(model, reasons.set(reason, (reasons.get(reason) ?? 0) + 1))
  }

  /** Creates the counters of the routes of models that are not retired. The metrics then show them from the start. */
  prepare({ models }: Catalog): void {
    for (const { publicName, retired, routes } of models.values()) {
      if (!retired) for (const { provider } of routes) this.of(publicName, provider)
    }
  }

  get routes(): ReadonlyArray<RouteTraffic> {
    return [...this.#routes.values()].flatMap((providers) => [...providers.values()])
  }

  get refusals(): ReadonlyArray<{ readonly model: string; readonly reason: string; readonly count: number }> {
    return [...this.#refusals].flatMap(([model, reasons]) =>
      [...reasons].map(([reason, count]) => ({ model, reason, count }))
    )
  }

  #add(model: string, provider: string): RouteTraffic {
    if (this.#routeCount >= MAX_ROUTES && model !== OTHER) return this.of(OTHER, OTHER)
    this.#routeCount += 1
    const route = new RouteTraffic(model, provider)
    const providers = this.#routes.get(model) ?? new Map<string, RouteTraffic>()
    this.#routes.set(model, providers.set(provider, route))
    return route
  }
}

/** The counters of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class Traffic extends Context.Reference<Traffic>()("@tollgate/application/Traffic", {
  defaultValue: () => new TrafficCounters()
}) {}
