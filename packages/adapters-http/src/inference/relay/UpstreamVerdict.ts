/**
 * What a supplier's refusal says about the supplier, and whether another route may do better (gap F6).
 */
import type { AttemptError, AttemptFailed } from "@tollgate/application/inference/RelayConnection"
import type { Verdict } from "@tollgate/application/inference/Upstreams"

/**
 * Our key is refused there, or our account is empty: the route cannot work, whatever is asked. A 403 or a 404 may say so
 * too, but also that an input was flagged or that something it names does not exist: what one client sends must not take
 * the route from all others.
 */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402])

/** These refuse one request, or all; neither says that the supplier is in trouble. */
const REFUSING: ReadonlySet<number> = new Set([403, 404])

export const verdictOf = (status: number, error: AttemptError): Verdict =>
  MISCONFIGURED.has(status)
    ? "misconfigured"
    : error._tag === "UpstreamFailed" && !REFUSING.has(status)
      ? "failed"
      : "served"

/** A refusal of the request itself is the same everywhere; a refusal for any other reason was not billed to us. */
export const refused = (error: AttemptError): AttemptFailed => ({
  error,
  elsewhere: error._tag !== "UpstreamRejected" && error._tag !== "RequestTooLarge"
})
