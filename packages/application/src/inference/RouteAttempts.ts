/**
 * Defines the attempts of a request on its routes: their order, their results, and the error if all attempts fail.
 */
import { type Candidate, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import type { Ending } from "@tollgate/domain/inference/Charge"
import type {
  CircuitOpen,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded } from "@tollgate/domain/ledger/KeyHold"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type { Delivery } from "./Delivery.ts"

/**
 * An error of an attempt: of the provider, of the connection to it, or of the limits and circuit breakers of the
 * gateway.
 */
export type RouteError = UpstreamFailed | UpstreamRejected | TechnicalLimit | RequestTooLarge | Overloaded | CircuitOpen

/** A stream can also fail because the balances or the budget of the key are used up. */
export type AttemptError = RouteError | InsufficientBalance | KeyBudgetExceeded

export interface FailedAttempt<E extends AttemptError = AttemptError> {
  readonly error: E
  /**
   * True if another route may be tried: another provider may accept the request, and this provider probably does not
   * bill the attempt. A provider may bill a request that it answered too late, but not one that it refused.
   */
  readonly retryElsewhere: boolean
  /** Set only by image attempts: true if this attempt sent nothing to its provider. */
  readonly unsent?: true
  /** Set only by image attempts: the usage in a response that cannot be delivered. */
  readonly consumed?: ReportedUsage
}

export type Attempt =
  /** The stream was relayed completely, and the client's socket has accepted all bytes. */
  | { readonly _tag: "Streamed" }
  /** The whole response has arrived and is not yet written to the client. */
  | {
      readonly _tag: "Completed"
      /** Returns the content of the response: the text that the deltas of a stream would contain. */
      readonly content: () => string
      readonly write: () => void
    }

/** Orders the routes by priority. The order of routes with equal priority is random, by weight, for every request. */
export const routesInOrder = (candidates: ReadonlyArray<Candidate>): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.map(
    Effect.forEach(candidates, () => Random.next),
    (draws) => orderCandidates(candidates, draws)
  )

/**
 * Returns the more informative of two errors. A failure of a provider is more informative than `Overloaded`, and
 * `Overloaded` is more informative than `CircuitOpen`. Of two equally informative errors, returns the later error.
 */
export const mostInformativeError = <E extends AttemptError>(earlier: E | undefined, later: E): E =>
  earlier === undefined || weight(later) >= weight(earlier) ? later : earlier

const weight = ({ _tag }: AttemptError): number => (_tag === "CircuitOpen" ? 0 : _tag === "Overloaded" ? 1 : 2)

/** Returns how a stream, or a request without a successful attempt, ended. */
export const endingOf = (exit: Exit.Exit<undefined, AttemptError>, delivery: Delivery): Ending => {
  if (Exit.isSuccess(exit)) return "complete"
  if (Cause.isInterrupted(exit.cause)) return "client_gone"
  if (delivery.text.deltas === 0) return "failed"
  const refusal = delivery.allowance?.refusal
  return refusal === undefined || refusal._tag === "Overloaded" ? "upstream_cut" : "balance_exhausted"
}
