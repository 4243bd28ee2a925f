/**
 * The port to the providers, one exchange at a time.
 *
 * Plain callbacks, not streams of effects: every chunk of every response passes here.
 */

import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import type * as Either from "effect/Either"

export interface UpstreamRequest {
  readonly candidate: Candidate
  /** Appended to the provider's base address: `/chat/completions`. */
  readonly path: string
  /** Only the headers that a provider may see; the adapter adds the credentials. */
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
  /** False asks to pause until `resume`. A method, so that an adapter on Node may declare its `Buffer`. */
  onData(chunk: Uint8Array): boolean
  readonly onEnd: () => void
  /** Refused, reset, cut short, or unreadable. No event follows. The reason is for the log. */
  readonly onBroken: (reason: string) => void
}

/** The verdict of an attempt on its provider. */
export type Verdict =
  /** It works, also when it refused the request. */
  | "served"
  /** It failed: counts towards opening the breaker. */
  | "failed"
  /** It refuses our key or our account: the route is disabled at once. */
  | "misconfigured"
  /** Nothing is known: the client disconnected. */
  | "undecided"

export interface UpstreamExchange {
  readonly resume: () => void
  /** Ends the exchange now if it is not over; no event follows. Releases the slot. Only the first call counts. */
  readonly close: (verdict: Verdict) => void
}

export class Upstreams extends Context.Tag("@tollgate/application/Upstreams")<
  Upstreams,
  {
    /** Takes a slot of the provider and sends the request; refuses at once when it is full, open, or off. */
    readonly send: (
      request: UpstreamRequest,
      events: UpstreamEvents
    ) => Either.Either<UpstreamExchange, Overloaded | CircuitOpen | UpstreamFailed>
  }
>() {}
