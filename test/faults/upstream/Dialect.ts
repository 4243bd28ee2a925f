/**
 * A protocol as its official client speaks it: what the fault suite has to know of it to ask, and to hear.
 */
import type { Figures } from "./Fault.ts"

export interface Dialect {
  readonly protocol: "chat" | "messages" | "responses"
  /** Where a supplier is asked. */
  readonly path: string
  /** The `type` of an error in this protocol's words, by our code. */
  readonly types: Readonly<Record<string, string>>
  readonly callerOf: (gatewayUrl: string, key: string) => Caller
}

/** The official client. Both ways to ask write down what they hear as they go, and raise whatever the client raises. */
export interface Caller {
  readonly answer: (model: string, heard: Heard) => Promise<void>
  /** Calls `hear` for each event that the client passes on. */
  readonly stream: (model: string, heard: Heard, hear: () => void) => Promise<void>
  /** What the client raised, if it is an error of the API. */
  readonly raised: (error: unknown) => Raised | undefined
}

/** What the official client makes of it. */
export interface Heard {
  requestId: string
  text: string
  usage: Figures | undefined
  raised: Raised | undefined
}

export interface Raised {
  readonly requestId: string | null | undefined
  /** Undefined when it is raised out of a stream. */
  readonly status: number | undefined
  readonly code: string | null | undefined
  readonly type: string | null | undefined
  readonly retryAfter: string | undefined
}

export const QUESTION = "Say hello."
