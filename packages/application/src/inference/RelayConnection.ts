/**
 * The interface between the use case `RelayRequest` and the HTTP adapter, for one request.
 *
 * The use case decides the order of the steps and the charge. The HTTP adapter implements this interface. The
 * adapter has read the request from the client, sends the request to one upstream at a time, and writes to the client's
 * socket.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import type { HostedTool } from "@tollgate/domain/inference/HostedTools"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { PromptText } from "@tollgate/domain/inference/PromptText"
import type * as Effect from "effect/Effect"
import type { Callback } from "../ledger/InferenceLedger.ts"
import type { Delivery, RequestClock } from "./Delivery.ts"
import type { Attempt, FailedAttempt } from "./RouteAttempts.ts"

/** A request body, of which only the members for routing, metering and billing are parsed. */
export interface InferenceRequest {
  /** The public model name that the client sent. */
  readonly model: string
  readonly streamed: boolean
  readonly size: RequestSize
  /** The tools of the request that the provider would run; undefined if the protocol has none. */
  readonly hostedTools?: ReadonlyArray<HostedTool>
  /** Extracts the text of the prompt from the body, for a local token count. */
  readonly promptText: () => PromptText
}

/** Writes the whole response to the client. */
export type WriteResponse = () => void

/** Runs an effect and calls back with its exit. It is used only for steps that not every request needs. */
export type Run = <A, E>(effect: Effect.Effect<A, E>, callback: Callback<A, E>) => void

export interface RelayConnection<Request extends InferenceRequest> extends RequestClock {
  readonly requestId: RequestId
  readonly protocol: Protocol
  /**
   * Returns true once a byte of the response was written, even of a keepalive. No other route can be tried after that.
   */
  readonly committed: () => boolean
  /** Returns true if the client's connection is closed. */
  readonly gone: () => boolean
  /**
   * A function that the use case sets. When the client disconnects, or the shutdown ends the request, the HTTP adapter
   * aborts the current attempt and calls this function. The aborted attempt does not call back.
   */
  onDisconnect: () => void
  /** Aborts the current attempt without a callback. */
  readonly abort: () => void
  /** Sends the request to one upstream. Calls back once, unless the attempt is aborted. */
  readonly attempt: (
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ) => void
}
