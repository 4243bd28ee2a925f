/**
 * Generates the text of a simulated text model for any protocol. The text repeats the user's message and states that it
 * is simulated. If JSON or a tool call is requested, the text is instead JSON, such as an example of a schema.
 */
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { exampleOf } from "./JsonExample.ts"
import type { Tool } from "./ToolChoice.ts"

export interface SimulatedRequest {
  /** The text of the last user message. */
  readonly userText: string
  /**
   * The maximum number of tokens in the response. Reasoning tokens are not limited, because simulated reasoning is
   * always short.
   */
  readonly maxTokens: number | undefined
  /** The tool that the model calls instead of responding with text. */
  readonly tool: Tool | undefined
  /** Set if the response must be JSON. If `schema` is set, the JSON is an example of it. */
  readonly json: { readonly schema: unknown } | undefined
  /** True if the model reasons before it responds. */
  readonly usesReasoning: boolean
}

export interface Reply {
  /** The pieces of the reasoning; empty without reasoning. */
  readonly reasoning: ReadonlyArray<string>
  readonly reasoningTokens: number
  /** The pieces of the response. A piece is about one token. */
  readonly pieces: ReadonlyArray<string>
  /** The number of tokens in the reasoning and the response. */
  readonly tokens: number
  /** True if the token limit cut the response. */
  readonly cut: boolean
}

/** Random delays in milliseconds that are like the delays of a real model. */
export const firstPieceDelay = Random.nextIntBetween(200, 400)
export const pieceDelay = Random.nextIntBetween(20, 40)
export const responseDelay = (pieces: number): Effect.Effect<number> =>
  Effect.zipWith(firstPieceDelay, pieceDelay, (before, each) => before + pieces * each)

const ECHO_CHARACTERS = 500
const REASONING = "This is simulated reasoning: the response should repeat the message."

export const reply = (request: SimulatedRequest): Effect.Effect<Reply, never, TokenCounter> =>
  Effect.gen(function* () {
    const reasoning = request.usesReasoning ? piecesOf(REASONING) : []
    const reasoningTokens = yield* tokensOf(reasoning)
    const all = piecesOf(whole(request))
    const limit = request.maxTokens ?? Number.POSITIVE_INFINITY
    let pieces = all
    let responseTokens = yield* tokensOf(pieces)
    while (responseTokens > limit) {
      pieces = pieces.slice(0, Math.min(limit, pieces.length - 1))
      responseTokens = yield* tokensOf(pieces)
    }
    return { reasoning, reasoningTokens, pieces, tokens: reasoningTokens + responseTokens, cut: pieces !== all }
  })

const piecesOf = (text: string): ReadonlyArray<string> => text.match(/ ?[\p{L}\p{M}]+|\s|[^\s\p{L}\p{M}]{1,3}/gu) ?? []

const tokensOf = (pieces: ReadonlyArray<string>): Effect.Effect<number, never, TokenCounter> =>
  Effect.map(
    Effect.flatMap(TokenCounter, (counter) => counter.count(pieces.join(""))),
    Number
  )

const whole = ({ userText, tool, json }: SimulatedRequest): string => {
  if (tool !== undefined) return JSON.stringify(exampleOf(tool.parameters ?? { type: "object" }))
  if (json !== undefined)
    return JSON.stringify(json.schema === undefined ? { simulated: true } : exampleOf(json.schema))
  const echo = userText.length > ECHO_CHARACTERS ? `${userText.slice(0, ECHO_CHARACTERS)}…` : userText
  return (
    `This is a simulation: no model was called. Your message was: "${echo}". ` +
    "A real model would respond here. The text is sent at the pace of a real model, and its tokens are counted " +
    "and charged like the tokens of a real model, so that you can try the whole gateway without a provider."
  )
}
