/**
 * Attempts at the routes of a request: their results, their order, and the error that the client gets when all fail.
 */
import { type Candidate, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import type {
  CircuitOpen,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

export type AttemptError =
  | UpstreamFailed
  | UpstreamRejected
  | TechnicalLimit
  | RequestTooLarge
  | Overloaded
  | CircuitOpen

export interface FailedAttempt {
  readonly error: AttemptError
  /** Another route may succeed: the provider caused the failure and cannot have billed us for a response. */
  readonly retryElsewhere: boolean
  /** Nothing was sent: no provider has received the request. */
  readonly unsent?: true
}

export type Attempt =
  /** The stream was relayed to its end and the socket took all of it. */
  | { readonly _tag: "Streamed" }
  /** The whole response has arrived and is not yet written. */
  | {
      readonly _tag: "Completed"
      /** Its content, as a delta would carry it. */
      readonly content: string
      readonly write: () => void
    }

/** By priority, and by weight among equal priorities: drawn anew for every request. */
export const routesInOrder = (candidates: ReadonlyArray<Candidate>): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.map(
    Effect.forEach(candidates, () => Random.next),
    (draws) => orderCandidates(candidates, draws)
  )

/**
 * A failure of a provider tells more than our own refusal to call one (`Overloaded`, `CircuitOpen`). Of two equal errors
 * the later one counts.
 */
export const mostInformativeError = (earlier: AttemptError | undefined, later: AttemptError): AttemptError =>
  earlier === undefined || weight(later) >= weight(earlier) ? later : earlier

const weight = ({ _tag }: AttemptError): number => (_tag === "CircuitOpen" ? 0 : _tag === "Overloaded" ? 1 : 2)
