/**
 * These functions interpret a provider's refusal or unusable response. The circuit breaker, the choice of another
 * route, the recorded usage and the error text for the client depend on the result (docs/reference/inference.md#f6).
 */
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { asObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import type { ProviderNames } from "../../wire/Redaction.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"

/**
 * The statuses after which the route cannot work for any request: the provider refuses our API key, or our account with
 * the provider has no credit. A 403 or 404 may have the same causes, but may also concern a single request (a flagged
 * input, an unknown resource). One client's request must not disable the route for all other clients.
 */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402])

/** The statuses that refuse a single request or all requests. They do not prove that the provider is failing. */
const REFUSING: ReadonlySet<number> = new Set([403, 404])

export const verdictOf = (status: number, error: RouteError): Verdict =>
  MISCONFIGURED.has(status)
    ? "misconfigured"
    : error._tag === "UpstreamFailed" && !REFUSING.has(status)
      ? "failed"
      : "served"

/**
 * Allows another route unless every provider would refuse the request. Providers do not bill refused requests, so
 * another attempt is safe.
 */
export const refusedAttempt = (error: RouteError): FailedAttempt<RouteError> => ({
  error,
  retryElsewhere: error._tag !== "UpstreamRejected" && error._tag !== "RequestTooLarge"
})

/**
 * Returns the usage that an undeliverable response reports. This usage is recorded but not charged to the customer
 * (docs/reference/billing.md#c11).
 */
export const usageIn = ({ usageOf }: Pick<RelayProtocol<never>, "usageOf">, body: Buffer): ReportedUsage => {
  try {
    const response = asObject(JSON.parse(body.toString()))
    return response === undefined ? unreported : usageOf(response)
  } catch {
    return unreported
  }
}

/** The parts of host names that identify no provider. */
const GENERIC_LABELS: ReadonlySet<string> = new Set(["api", "www", "localhost"])

/** Returns the public name of the model, and the provider's names that must not occur in error texts. */
export const providerNames = (publicName: string, { provider, route }: Candidate): ProviderNames => {
  const { host, hostname } = new URL(provider.baseUrl)
  const labels = hostname.split(".")
  // The last label is a top-level domain, which identifies no provider. An IP address contains no name.
  const named = /^[\d.:[\]]+$/.test(hostname) ? [] : labels.slice(0, Math.max(1, labels.length - 1))
  return {
    publicName,
    upstreamModel: route.upstreamModel,
    secretWords: [provider.name, host, ...named.filter((label) => label.length > 3 && !GENERIC_LABELS.has(label))]
  }
}
