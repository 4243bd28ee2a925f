/**
 * The client's half of a relay: what its protocol adapter does for the use case.
 *
 * One object a request. The use case decides in which order things happen and what is charged; the adapter reads the
 * body, talks to one supplier at a time, and writes to the socket.
 */

import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import type {
  CircuitOpen,
  InvalidApiKey,
  InvalidRequest,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { PromptText } from "@tollgate/domain/inference/PromptText"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import type { Callback } from "../ledger/InferenceLedger.ts"
import type { Delivery, RequestClock } from "./Delivery.ts"

/** A body, understood as far as it must be. */
export interface InferenceRequest {
  /** The public name asked for. */
  readonly model: string
  readonly streamed: boolean
  readonly size: RequestSize
  /** What a tokenizer would see; read from the body only when it is needed. */
  readonly promptText: () => PromptText
}

export type BodyRefusal = RequestTooLarge | InvalidRequest | Overloaded

export type AttemptError =
  | UpstreamFailed
  | UpstreamRejected
  | TechnicalLimit
  | RequestTooLarge
  | Overloaded
  | CircuitOpen

/** An attempt at one route that did not lead to an answer. */
export interface AttemptFailed {
  readonly error: AttemptError
  /** Another route may do better: the fault was the supplier's, and it cannot have billed us for an answer. */
  readonly elsewhere: boolean
  /** Nothing was sent: no supplier heard of the request. */
  readonly unsent?: true
}

export type Attempt =
  /** The stream was relayed to its end and the socket took all of it. */
  | { readonly _tag: "Streamed" }
  /** The whole answer is here and not yet written. */
  | {
      readonly _tag: "Answered"
      /** Its content, as a delta would carry it. */
      readonly content: string
      readonly write: () => void
    }

export interface RelayConnection<Request extends InferenceRequest> extends RequestClock {
  readonly requestId: RequestId
  readonly protocol: Protocol
  readonly presentedKey: Either.Either<Redacted.Redacted<string>, InvalidApiKey>
  /** Answers with the whole body, at once where it is here; never, when the client leaves before. */
  readonly takeBody: (answer: Callback<Buffer, BodyRefusal>) => void
  readonly read: (body: Buffer) => Either.Either<Request, InvalidRequest>
  /** A byte of the response is on its way, be it a keepalive: from here on only this route can answer. */
  readonly committed: () => boolean
  /** The connection is closed. */
  readonly gone: () => boolean
  /** Called when the client leaves; whatever it waits for is aborted then, and does not answer any more. */
  onLeft: () => void
  readonly attempt: (
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    answer: Callback<Attempt, AttemptFailed>
  ) => void
}
