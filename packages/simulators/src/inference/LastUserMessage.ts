/**
 * Finds the last user message of a conversation in any protocol. The last text of the message counts, because some
 * clients insert additional text before it.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

export interface LastUserMessage {
  readonly text: string
  /** True if no message and no tool result follows. */
  readonly unanswered: boolean
}

export const lastUserMessage = (conversation: ReadonlyArray<unknown>): LastUserMessage => {
  const turns = conversation
    .map(asObject)
    .filter((turn) => turn !== undefined)
    .filter(({ role }) => !OPERATORS.has(asText(role)))
  const latest = turns.at(-1)
  const texts = turns.filter(isUsers).map(textOf)
  return {
    text: texts.findLast((text) => text !== "") ?? "",
    unanswered: latest !== undefined && isUsers(latest) && textOf(latest) !== "" && !hasToolResult(latest)
  }
}

/** Roles for instructions from the application. Messages with these roles are not part of the conversation. */
const OPERATORS: ReadonlySet<string> = new Set(["system", "developer"])

const isUsers = ({ role }: JsonObject): boolean => role === "user"

const textOf = ({ content }: JsonObject): string => {
  const texts = [content, ...asArray(content).map((part) => asObject(part)?.text)].map(asText)
  return texts.findLast((text) => text !== "") ?? ""
}

const hasToolResult = ({ content }: JsonObject): boolean =>
  asArray(content).some((part) => asObject(part)?.type === "tool_result")
