/**
 * The HTTP connection of one relayed request, as the use case sees it.
 *
 * The use case decides the order of steps and the charge. The HTTP adapter has read the request; it exchanges bytes
 * with one upstream at a time and writes to the client's socket.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { PromptText } from "@tollgate/domain/inference/PromptText"
import type { Callback } from "../ledger/InferenceLedger.ts"
import type { Delivery, RequestClock } from "./Delivery.ts"
import type { Attempt, FailedAttempt } from "./RouteAttempts.ts"

/** A request body, parsed as far as routing, metering and billing need. */
export interface InferenceRequest {
  /** The public model name that the client sent. */
  readonly model: string
  readonly streamed: boolean
  readonly size: RequestSize
  /** Returns the text that a tokenizer would see. The text is extracted from the body only on this call. */
  readonly promptText: () => PromptText
}

export interface RelayConnection<Request extends InferenceRequest> extends RequestClock {
  readonly requestId: RequestId
  readonly protocol: Protocol
  /** Returns true once a byte of the response was written, even a keepalive: no other route can be tried then. */
  readonly committed: () => boolean
  /** Returns true if the client's connection is closed. */
  readonly gone: () => boolean
  /** Is called when the client disconnects. The attempt is aborted then and does not call back. */
  onDisconnect: () => void
  /** Sends the request to one upstream and calls back once. */
  readonly attempt: (
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ) => void
}
