/**
 * What a supplier's refusal says about the supplier, and whether another route may do better (gap F6).
 */
import type { AttemptError, AttemptFailed } from "@tollgate/application/inference/RelayClient"
import type { Verdict } from "@tollgate/application/ports/Upstreams"

/** Our account is refused there, or the model is not known: the route cannot work, whatever is asked. */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402, 403, 404])

export const verdictOf = (status: number, error: AttemptError): Verdict =>
  MISCONFIGURED.has(status) ? "misconfigured" : error._tag === "UpstreamFailed" ? "failed" : "served"

/** A refusal of the request itself is the same everywhere; a refusal for any other reason was not billed to us. */
export const refused = (error: AttemptError): AttemptFailed => ({
  error,
  elsewhere: error._tag !== "UpstreamRejected" && error._tag !== "RequestTooLarge"
})
