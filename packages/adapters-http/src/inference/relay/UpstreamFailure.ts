/**
 * These functions interpret a provider's refusal or unusable response. The circuit breaker, the choice of another route
 * and the recorded usage depend on the result (docs/reference/inference.md#f6).
 */
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import { asObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import { parseResponse } from "../../wire/ParseResponse.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"

/**
 * The statuses after which the route cannot work for any request: the provider refuses the gateway's API key, or the
 * gateway's account with the provider has no credit. A 403 or 404 may have the same causes, but may also concern a
 * single request (a flagged input, an unknown resource). One client's request must not disable the route for all other
 * clients.
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
 * Returns the result of an attempt that the provider refused. Another route is tried unless every provider would refuse
 * the request. Providers do not bill refused requests, so another attempt is safe.
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
    const response = asObject(parseResponse(body))
    return response === undefined ? unreported : usageOf(response)
  } catch {
    return unreported
  }
}
