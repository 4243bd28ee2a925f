/**
 * The meaning of a refusal or an unusable response of a provider: for its circuit breaker, for the next route, for the
 * usage that is recorded, and for the text that the client sees (docs/reference/inference.md#f6).
 */
import type { AttemptError, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { asObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import type { ProviderNames } from "../../wire/Redaction.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"

/**
 * The provider refuses our key, or our account is empty: the route cannot work for any request. A 403 or a 404 may mean
 * the same, but also that an input was flagged or that something it names does not exist: the request of one client must
 * not take the route away from all others.
 */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402])

/** These refuse one request, or all; neither says that the provider is failing. */
const REFUSING: ReadonlySet<number> = new Set([403, 404])

export const verdictOf = (status: number, error: AttemptError): Verdict =>
  MISCONFIGURED.has(status)
    ? "misconfigured"
    : error._tag === "UpstreamFailed" && !REFUSING.has(status)
      ? "failed"
      : "served"

/** Every provider refuses a bad request in the same way; a refusal for any other reason was not billed to us. */
export const refusedAttempt = (error: AttemptError): FailedAttempt => ({
  error,
  retryElsewhere: error._tag !== "UpstreamRejected" && error._tag !== "RequestTooLarge"
})

/**
 * The usage that a response reports that could not be delivered: charged to no customer, and recorded
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

/** The words that would show a client which provider serves a model. They are removed from the text of refusals. */
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
