/**
 * What a simulated model says, whatever the protocol: it repeats what it was told, and never pretends to be real.
 */
import { TokenCounter } from "@tollgate/application/ports/TokenCounter"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { exampleOf } from "./JsonExample.ts"

/** A tool the model must call, with the schema of its arguments. */
export interface ForcedTool {
  readonly name: string
  readonly parameters: unknown
}

export interface Ask {
  /** What the user said last. */
  readonly said: string
  readonly maxTokens: number | undefined
  readonly tool: ForcedTool | undefined
  /** The answer must be JSON; of this schema, where one is given. */
  readonly json: { readonly schema: unknown } | undefined
}

export interface Reply {
  /** About a token each: words of text, or bits of JSON. */
  readonly pieces: ReadonlyArray<string>
  readonly tokens: number
  /** The limit came before the end. */
  readonly cut: boolean
}

/** Milliseconds that a real model might take. */
export const thinking = Random.nextIntBetween(200, 400)
export const speaking = Random.nextIntBetween(20, 40)

const ECHO_CHARACTERS = 500

export const reply = (ask: Ask): Effect.Effect<Reply, never, TokenCounter> =>
  Effect.gen(function* () {
    const counter = yield* TokenCounter
    const pieces = whole(ask).match(/ ?[\p{L}\p{M}]+|\s|[^\s\p{L}\p{M}]{1,3}/gu) ?? []
    let tokens = Number(yield* counter.count(pieces.join("")))
    if (ask.maxTokens === undefined || tokens <= ask.maxTokens) return { pieces, tokens, cut: false }
    let kept = pieces.slice(0, ask.maxTokens)
    tokens = Number(yield* counter.count(kept.join("")))
    while (tokens > ask.maxTokens) {
      kept = kept.slice(0, -1)
      tokens = Number(yield* counter.count(kept.join("")))
    }
    return { pieces: kept, tokens, cut: true }
  })

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
