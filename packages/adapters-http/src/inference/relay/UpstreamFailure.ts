/**
 * Interprets a provider's refusal or unusable response: for the circuit breaker, the choice of another route, the
 * recorded usage, and the text that the client sees (docs/reference/inference.md#f6).
 */
import type { AttemptError, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { asObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import type { ProviderNames } from "../../wire/Redaction.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"

/**
 * The statuses after which the route cannot work for any request: the provider refuses our API key, or our account is
 * empty. A 403 or 404 may mean the same, but may also concern one request (a flagged input, an unknown resource), and
 * one client's request must not disable the route for all others.
 */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402])

/** The statuses that refuse one request or all requests. They do not show that the provider is failing. */
const REFUSING: ReadonlySet<number> = new Set([403, 404])

export const verdictOf = (status: number, error: AttemptError): Verdict =>
  MISCONFIGURED.has(status)
    ? "misconfigured"
    : error._tag === "UpstreamFailed" && !REFUSING.has(status)
      ? "failed"
      : "served"

/** Another route is tried unless every provider would refuse the request. A refused request is not billed to us. */
export const refusedAttempt = (error: AttemptError): FailedAttempt => ({
  error,
  retryElsewhere: error._tag !== "UpstreamRejected" && error._tag !== "RequestTooLarge"
})

/**
 * Returns the usage that an undeliverable response reports. It is recorded, but charged to no customer
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

/** Parts of host names that identify no provider. */
const GENERIC_LABELS: ReadonlySet<string> = new Set(["api", "www", "localhost"])

/** Returns the words that identify the provider. They are removed from the text of refusals. */
export const providerNames = (publicName: string, { provider, route }: Candidate): ProviderNames => {
  const { host, hostname } = new URL(provider.baseUrl)
  const labels = hostname.split(".")
  // The last label is a country or a category; an IP address contains no name to hide.
  const named = /^[\d.:[\]]+$/.test(hostname) ? [] : labels.slice(0, Math.max(1, labels.length - 1))
  return {
    publicName,
    upstreamModel: route.upstreamModel,
    secretWords: [provider.name, host, ...named.filter((label) => label.length > 3 && !GENERIC_LABELS.has(label))]
  }
}
