/**
 * The tool that a simulated model calls: the required one, or one that the user names, as in "Call get_weather.". Otherwise
 * the model responds with text.
 */
import * as Effect from "effect/Effect"
import { SimulatedRefusal } from "../sharing/SimulatedProtocol.ts"
import type { LastUserMessage } from "./LastUserMessage.ts"

/** A tool, with the schema of its arguments. */
export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export interface ToolOffer {
  readonly tools: ReadonlyArray<Tool>
  /** Whether the model must call a tool: any tool, or a named one. */
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

/** The characters that providers allow in a tool name. None of them is special in a regular expression. */
const NAME = /^[\w-]+$/
