/**
 * Defines the interface of an official client for the shared tests. Every protocol has the same calls and results.
 */
import type { z } from "zod"
import type { Script, Signal } from "../../support/upstream/Script.ts"

export interface OfficialClient {
  readonly name: string
  /** The path of the requests that the gateway sends to the upstream. */
  readonly path: string
  readonly connect: (gatewayUrl: string, key: string) => Connection
  /** Returns the script of an upstream that sends this content. */
  readonly upstream: (scripted: ScriptedContent, streamed: boolean) => Script
}

/** A client that is configured for one gateway and one API key. */
export interface Connection {
  readonly requestWhole: (request: ClientRequest) => Promise<ClientResponse>
  /**
   * Requests a stream with the client's helper, which assembles the response. Calls `onText` for each piece of text.
   */
  readonly requestStream: (request: ClientRequest, onText?: () => void) => Promise<ClientResponse>
  /** Requests a stream, reads it event by event, and calls `onText` for each piece of text. */
  readonly readEvents: (request: ClientRequest, onText: () => void) => Promise<void>
}

export interface ClientRequest {
  readonly model: string
  readonly question: string
  /** A PNG in base64. */
  readonly picture?: string
  readonly tool?: Tool
  /** The conversation so far: a tool call and its result. */
  readonly after?: { readonly response: ClientResponse; readonly toolResult: string }
  readonly withReasoning?: boolean
  /** The schema that the response must match. */
  readonly schema?: z.ZodType
}

export interface Tool {
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>> & { readonly type: "object" }
}

export interface ClientResponse {
  readonly model: string
  readonly text: string
  readonly call: Call | undefined
  /** True if the response contains reasoning or, for chat completions, reports reasoning tokens. */
  readonly hasReasoning: boolean
  /** The result of the client's own parser. */
  readonly parsed: unknown
  readonly usage: Usage
  /** The part of the response that the next request repeats to continue the conversation. */
  readonly turn: unknown
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** Token counts. Each token is counted in one class only. */
export interface Usage {
  readonly input: number
  readonly cacheWrite: number
  readonly cacheRead: number
  readonly output: number
}

export interface ScriptedContent {
  readonly reasoning?: string
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: unknown }
  readonly usage: readonly [input: number, output: number]
  /** If defined, the upstream pauses after the text, and cuts the stream when this signal fires. */
  readonly cutBy?: Signal
}
