/**
 * Which tool a simulated model calls: the one it must, or else one that the user asks for by its name, as in "Call
 * get_weather." Left to itself it prefers to talk.
 */
import * as Effect from "effect/Effect"
import type { LastUserMessage } from "./LastUserMessage.ts"
import { SimulatedRefusal } from "./SimulatedProtocol.ts"

/** A tool, with the schema of its arguments. */
export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export interface ToolOffer {
  readonly tools: ReadonlyArray<Tool>
  /** Whether the model must call one: any, or one in particular. */
  readonly choice: "none" | "auto" | "any" | { readonly name: string }
}

export const toolToCall = (
  { tools, choice }: ToolOffer,
  { text, unanswered }: LastUserMessage
): Effect.Effect<Tool | undefined, SimulatedRefusal> => {
  if (choice === "none") return Effect.succeed(undefined)
  if (choice === "auto") {
    return Effect.succeed(unanswered ? tools.find(({ name }) => isAskedFor(name, text)) : undefined)
  }
  const tool = tools.find(({ name }) => choice === "any" || name === choice.name)
  return tool === undefined
    ? new SimulatedRefusal({ status: 400, message: "tool_choice: no such tool", param: "tool_choice" })
    : Effect.succeed(tool)
}

const isAskedFor = (name: string, text: string): boolean =>
  NAME.test(name) && new RegExp(`\\b(?:call|use) ${name}(?![\\w-])`, "i").test(text)

/** What suppliers allow as a name; nothing in it has a meaning of its own in a pattern. */
const NAME = /^[\w-]+$/
