/**
 * Selects the tool that a simulated model calls. The model calls the tool that the request requires. If the request
 * leaves the choice to the model, the model calls a tool that the user names, as in "Call get_weather."; otherwise it
 * responds with text.
 */
import * as Effect from "effect/Effect"
import { SimulatedRefusal } from "../sharing/SimulatedProtocol.ts"
import type { LastUserMessage } from "./LastUserMessage.ts"

/** A tool and the schema of its arguments. */
export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export interface ToolOffer {
  readonly tools: ReadonlyArray<Tool>
  /** `any` requires a call of any tool; an object requires a call of the tool with this name. */
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
    ? new SimulatedRefusal({ status: 400, message: "tool_choice: the request has no such tool", param: "tool_choice" })
    : Effect.succeed(tool)
}

const isAskedFor = (name: string, text: string): boolean =>
  NAME.test(name) && new RegExp(`\\b(?:call|use) ${name}(?![\\w-])`, "i").test(text)

/**
 * Matches the tool names that providers allow. None of the allowed characters has a special meaning in a regular
 * expression.
 */
const NAME = /^[\w-]+$/
