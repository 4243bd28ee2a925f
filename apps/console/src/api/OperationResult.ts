/**
 * Decides whether an operation may have been executed after a request with its operation id failed.
 */
import { Problem } from "./Problem.ts"

/**
 * The statuses of refusals that prove that no request with this operation id and this content was executed. The gateway
 * checks the quota (402) and the tier or the amount (422) only if it has found no earlier request with this id. It
 * refuses an operation id (409) only if the earlier request had another content. A malformed body (422) is the same in
 * all requests with this id. Other refusals can precede the search for an earlier request: the gateway checks the
 * session (401) first, and a proxy can limit the rate of requests (429).
 */
const PROOFS: ReadonlySet<number> = new Set([402, 409, 422])

/**
 * True if the operation may have been executed. `isRepeat` is true if an earlier request with the same operation id may
 * have executed it: most refusals of the repeat then prove nothing about the earlier request.
 */
export const mayBeExecuted = (error: unknown, isRepeat: boolean): boolean =>
  !(error instanceof Problem) || error.isUnknown || (isRepeat && !PROOFS.has(error.status))
