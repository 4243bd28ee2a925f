/**
 * Replaces the pepper under which API keys are stored, while the keys stay in use (ADR 0014). The secrets of webhook
 * endpoints are encrypted under the pepper too. A secret stays encrypted under the previous pepper until the secret is
 * rotated.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/** Keys that this node has looked up and that are not stored under the current pepper. */
export class KeyRewrites extends Context.Tag("@tollgate/application/KeyRewrites")<
  KeyRewrites,
  {
    /** Stores a bounded number of these keys under the current pepper, and returns the number of changed keys. */
    readonly rewrite: Effect.Effect<number>
  }
>() {}

/** Counts of the keys that are not revoked and not expired. */
export interface PepperCounts {
  readonly all: number
  /**
   * Keys with a recorded pepper that is neither the current nor the previous pepper. Servers with these two peppers
   * refuse such keys.
   */
  readonly refused: number
  /** Keys that are stored under the previous pepper, or under a pepper that is not recorded. */
  readonly others: number
  /** The part of `others` that was used in the last 30 days. */
  readonly othersInUse: number
}

/** Counts of the webhook endpoints by the pepper under which their secret is encrypted. */
export interface EndpointPepperCounts {
  readonly all: number
  /**
   * Endpoints whose secret is encrypted under neither the current nor the previous pepper. No server with these two
   * peppers can sign webhooks to them.
   */
  readonly unusable: number
  /** Endpoints whose secret is encrypted under the previous pepper. */
  readonly others: number
}

export class KeyPeppers extends Context.Tag("@tollgate/application/KeyPeppers")<
  KeyPeppers,
  {
    /** Returns the counts; none if this program does not know the current pepper. */
    readonly count: Effect.Effect<Option.Option<PepperCounts>>
    /** Returns the counts; none if this program does not know the current pepper. */
    readonly countEndpoints: Effect.Effect<Option.Option<EndpointPepperCounts>>
  }
>() {}
