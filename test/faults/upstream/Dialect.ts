/**
 * A protocol and its official client, as far as the fault suite needs them to send requests and to read results.
 */
import type { Figures } from "./Fault.ts"

export interface Dialect {
  readonly protocol: "chat" | "messages" | "responses"
  /** The upstream path. */
  readonly path: string
  /** The error `type` of this protocol for each of our codes. */
  readonly types: Readonly<Record<string, string>>
  readonly callerOf: (gatewayUrl: string, key: string) => Caller
}

/** The official client. Both methods record the received content and raise the errors of the client. */
export interface Caller {
  readonly answer: (model: string, heard: Heard) => Promise<void>
  /** Calls `hear` for each event that the client emits. */
  readonly stream: (model: string, heard: Heard, hear: () => void) => Promise<void>
  /** The API error that the client raised, if it raised one. */
  readonly raised: (error: unknown) => Raised | undefined
}

/** The error members that the official client exposes. */
export interface Heard {
  requestId: string
  text: string
  usage: Figures | undefined
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
