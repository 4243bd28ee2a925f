/**
 * The port that sends requests to providers.
 *
 * It uses plain callbacks instead of streams of Effect, because every chunk of every response passes through it.
 */

import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Provider, ProviderName } from "@tollgate/domain/catalog/Provider"
import type { Breaker } from "@tollgate/domain/inference/Breaker"
import type { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import type * as Either from "effect/Either"

export interface UpstreamRequest {
  readonly candidate: Candidate
  /** The path appended to the provider's base URL, for example `/chat/completions`. */
  readonly path: string
  /** The headers that a provider may see. The adapter adds the credentials. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface UpstreamHead {
  readonly status: number
  readonly contentType: string
  readonly retryAfter: string | undefined
}

/** The events of an exchange, in order: `onHead`, any number of `onData`, then `onEnd`; or `onBroken` at any point. */
export interface UpstreamEvents {
  readonly onHead: (head: UpstreamHead) => void
  /**
   * Returns false to pause the response body until `resume` is called. `onData` is declared as a method, because
   * TypeScript then accepts a function whose parameter is a `Buffer` of Node.js.
   */
  onData(chunk: Uint8Array): boolean
  readonly onEnd: () => void
  /** Called if the exchange was refused, reset, cut short or unreadable. No event follows. `reason` is for the log. */
  readonly onBroken: (reason: string) => void
}

/** The result of an attempt for the circuit breaker of the provider. */
export type Verdict =
  /** The provider works. It may have refused the request. */
  | "served"
  /** The provider failed. The failure counts towards opening the circuit breaker. */
  | "failed"
  /**
   * The provider refuses the API key or the account of the gateway with status 401 or 402. The route is disabled for a
   * minute.
   */
  | "misconfigured"
  /** The attempt does not show whether the provider works, for example because the client disconnected. */
  | "undecided"

export interface UpstreamExchange {
  readonly resume: () => void
  /**
   * Ends the exchange if it is still open, and releases the provider's slot. No event follows. Later calls have no
   * effect.
   */
  readonly close: (verdict: Verdict) => void
}

/** The state of a provider that this process has sent requests to, for metrics and operators. */
export interface ProviderLoad {
  readonly provider: ProviderName
  readonly breaker: Breaker["state"]
  /** The number of open exchanges with the provider. */
  readonly open: number
}

export class Upstreams extends Context.Tag("@tollgate/application/Upstreams")<
  Upstreams,
  {
    /**
     * Takes one of the provider's slots for concurrent exchanges, and sends the request. Fails immediately if, for
     * example, no slot is free, the circuit breaker refuses the request or the route is disabled.
     */
    readonly send: (
      request: UpstreamRequest,
      events: UpstreamEvents
    ) => Either.Either<UpstreamExchange, Overloaded | CircuitOpen | UpstreamFailed>
    /**
     * Returns true if the text contains the API key of one of the providers. Keys of fewer than 8 characters are not
     * searched.
     */
    readonly containsApiKey: (text: string, providers: ReadonlyArray<Provider>) => boolean
    /**
     * Returns the providers with an open exchange, or with a circuit breaker that has counted a failure since the last
     * success.
     */
    readonly loads: () => ReadonlyArray<ProviderLoad>
  }
>() {}
