/**
 * An official client, as sentences about all of them need it: the same things asked and heard, each in the words of its
 * own protocol, and what a supplier of that protocol sends.
 */
import type { z } from "zod"
import type { Script, Signal } from "../../support/upstream/Script.ts"

export interface OfficialClient {
  /** What it is called, and what it speaks. */
  readonly name: string
  /** Where a supplier is asked. */
  readonly path: string
  readonly connect: (gatewayUrl: string, key: string) => Connection
  /** A supplier that says this. */
  readonly supplier: (said: Said, streamed: boolean) => Script
}

export interface Connection {
  readonly answer: (ask: Ask) => Promise<Answer>
  /** By the client's own helper, which puts the answer together. `hear` is called for each piece of text. */
  readonly stream: (ask: Ask, hear?: () => void) => Promise<Answer>
  /** Event by event. */
  readonly iterate: (ask: Ask, hear: () => void) => Promise<void>
}

export interface Ask {
  readonly model: string
  readonly question: string
  /** A PNG, in base64. */
  readonly picture?: string
  /** The model may call it, or talk. */
  readonly tool?: Tool
  /** What came of the question so far: a call of the tool, and what that found. */
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
  /** The model thought before it answered, and told as much of it as its protocol does. */
  readonly thought: boolean
  /** What the client's own parser made of the text. */
  readonly parsed: unknown
  readonly usage: Usage
  /** As a request says it to go on from there. */
  readonly turn: unknown
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** Tokens, each in one class only. */
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
  /** Then, and after the text, a stream of it breaks off. */
  readonly breaksAt?: Signal
}
