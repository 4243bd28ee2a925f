/**
 * What a simulated model says, whatever the protocol: it repeats what it was told, and never pretends to be real.
 */
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { exampleOf } from "./JsonExample.ts"
import type { Tool } from "./ToolChoice.ts"

export interface Ask {
  /** What the user said last. */
  readonly said: string
  /** Of the answer; a simulated thought is always short. */
  readonly maxTokens: number | undefined
  /** To be called instead of saying anything. */
  readonly tool: Tool | undefined
  /** The answer must be JSON; of this schema, where one is given. */
  readonly json: { readonly schema: unknown } | undefined
  /** The model thinks before it answers. */
  readonly thinks: boolean
}

export interface Reply {
  /** Pieces like those of the answer; none where the model did not think. */
  readonly thought: ReadonlyArray<string>
  readonly thoughtTokens: number
  /** About a token each: words of text, or bits of JSON. */
  readonly pieces: ReadonlyArray<string>
  /** Thought and answer. */
  readonly tokens: number
  /** The limit came before the end. */
  readonly cut: boolean
}

/** Milliseconds that a real model might take: to begin, for a piece, and to begin after so many pieces unheard. */
export const thinking = Random.nextIntBetween(200, 400)
export const speaking = Random.nextIntBetween(20, 40)
export const silence = (pieces: number): Effect.Effect<number> =>
  Effect.zipWith(thinking, speaking, (before, each) => before + pieces * each)

const ECHO_CHARACTERS = 500
const THOUGHT = "A simulated thought: the answer is to repeat what was said."

export const reply = (ask: Ask): Effect.Effect<Reply, never, TokenCounter> =>
  Effect.gen(function* () {
    const thought = ask.thinks ? piecesOf(THOUGHT) : []
    const thoughtTokens = yield* tokensOf(thought)
    const all = piecesOf(whole(ask))
    const limit = ask.maxTokens ?? Number.POSITIVE_INFINITY
    let pieces = all
    let answerTokens = yield* tokensOf(pieces)
    while (answerTokens > limit) {
      pieces = pieces.slice(0, Math.min(limit, pieces.length - 1))
      answerTokens = yield* tokensOf(pieces)
    }
    return { thought, thoughtTokens, pieces, tokens: thoughtTokens + answerTokens, cut: pieces !== all }
  })

const piecesOf = (text: string): ReadonlyArray<string> => text.match(/ ?[\p{L}\p{M}]+|\s|[^\s\p{L}\p{M}]{1,3}/gu) ?? []

const tokensOf = (pieces: ReadonlyArray<string>): Effect.Effect<number, never, TokenCounter> =>
  Effect.map(
    Effect.flatMap(TokenCounter, (counter) => counter.count(pieces.join(""))),
    Number
  )

const whole = ({ said, tool, json }: Ask): string => {
  if (tool !== undefined) return JSON.stringify(exampleOf(tool.parameters ?? { type: "object" }))
  if (json !== undefined)
    return JSON.stringify(json.schema === undefined ? { simulated: true } : exampleOf(json.schema))
  const echo = said.length > ECHO_CHARACTERS ? `${said.slice(0, ECHO_CHARACTERS)}…` : said
  return (
    `This is a simulation: no model was asked. You said: "${echo}". ` +
    "A real supplier would answer here. The words come at the pace of a real one, they are counted like real ones, " +
    "and they are charged like real ones, so that everything around them can be tried."
  )
}
