/**
 * The interface that the shared suites need of an official client: the same calls and results in each protocol, and the
 * upstream scripts of that protocol.
 */
import type { z } from "zod"
import type { Script, Signal } from "../../support/upstream/Script.ts"

export interface OfficialClient {
  /** The name of the client and its protocol. */
  readonly name: string
  /** The upstream path. */
  readonly path: string
  readonly connect: (gatewayUrl: string, key: string) => Connection
  /** A script of an upstream that sends this. */
  readonly upstream: (said: Said, streamed: boolean) => Script
}

export interface Connection {
  readonly answer: (ask: Ask) => Promise<Answer>
  /** Streams through the client's own helper, which assembles the response. `hear` is called for each piece of text. */
  readonly stream: (ask: Ask, hear?: () => void) => Promise<Answer>
  /** Streams event by event. */
  readonly iterate: (ask: Ask, hear: () => void) => Promise<void>
}

export interface Ask {
  readonly model: string
  readonly question: string
  /** A PNG in base64. */
  readonly picture?: string
  /** A tool that the model may call. */
  readonly tool?: Tool
  /** The conversation so far: a tool call and its result. */
  readonly after?: { readonly answer: Answer; readonly found: string }
  readonly thinks?: boolean
  readonly shape?: z.ZodType
}

export interface Tool {
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>> & { readonly type: "object" }
}

export interface Answer {
  readonly model: string
  readonly text: string
  readonly call: Call | undefined
  /** The reasoning, as far as the protocol shows it. */
  readonly thought: boolean
  /** The result of the client's own parser. */
  readonly parsed: unknown
  readonly usage: Usage
  /** The items that a next request sends to continue. */
  readonly turn: unknown
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** Token counts; each token is in one class only. */
export interface Usage {
  readonly input: number
  readonly cacheWrite: number
  readonly cacheRead: number
  readonly output: number
}

export interface Said {
  readonly thought?: string
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: unknown }
  readonly usage: readonly [input: number, output: number]
  /** The stream is cut at this signal, after the text. */
  readonly breaksAt?: Signal
}
