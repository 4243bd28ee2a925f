/**
 * Defines the parts of a protocol that the fault suite needs: requests with the official client, and the results that
 * the client reads.
 */
import type { TokenCounts } from "./Fault.ts"

export interface Dialect {
  readonly protocol: "chat" | "messages" | "responses"
  /** The path of the request that the gateway sends to the upstream. */
  readonly path: string
  /** The error `type` in this protocol, by error code of the gateway, for the codes that the faults cause. */
  readonly types: Readonly<Record<string, string>>
  readonly callerOf: (gatewayUrl: string, key: string) => Caller
}

/**
 * The official client. `requestWhole` and `requestStream` record the received content and throw the errors of the
 * client.
 */
export interface Caller {
  readonly requestWhole: (model: string, received: ReceivedResult) => Promise<void>
  /** Requests a stream and calls `onEvent` for each event that the client emits. */
  readonly requestStream: (model: string, received: ReceivedResult, onEvent: () => void) => Promise<void>
  /** Returns the members of an API error, or undefined for any other error. */
  readonly raised: (error: unknown) => Raised | undefined
}

export interface ReceivedResult {
  requestId: string
  text: string
  usage: TokenCounts | undefined
  raised: Raised | undefined
}

export interface Raised {
  readonly requestId: string | null | undefined
  /** Undefined for an error inside a stream. */
  readonly status: number | undefined
  readonly code: string | null | undefined
  readonly type: string | null | undefined
  readonly retryAfter: string | undefined
}

export const QUESTION = "Say hello."
