/**
 * The HTTP side of a relayed request, as the use case sees it: one object a request.
 *
 * The use case decides the order of steps and the charge. The adapter has read the request; it exchanges bytes with one
 * upstream at a time and writes to the client's socket.
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
  /** The public name that the client sent. */
  readonly model: string
  readonly streamed: boolean
  readonly size: RequestSize
  /** The text that a tokenizer would see; read from the body only when it is needed. */
  readonly promptText: () => PromptText
}

export interface RelayConnection<Request extends InferenceRequest> extends RequestClock {
  readonly requestId: RequestId
  readonly protocol: Protocol
  /** A byte of the response is on its way, even if only a keepalive: from here on only this route can respond. */
  readonly committed: () => boolean
  /** The connection is closed. */
  readonly gone: () => boolean
  /** Called when the client disconnects. The attempt is aborted then and does not call back any more. */
  onDisconnect: () => void
  /** Sends the request to one upstream and calls back once. */
  readonly attempt: (
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ) => void
}
