/**
 * Finds the last user message that contains text, in a conversation of any protocol. If the message has several texts,
 * the last text is used, because some clients insert texts before the user's text.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

export interface LastUserMessage {
  readonly text: string
  /** True if the conversation ends with a user message that contains text and no tool result. */
  readonly unanswered: boolean
}

export const lastUserMessage = (conversation: ReadonlyArray<unknown>): LastUserMessage => {
  const turns = conversation
    .map(asObject)
    .filter((turn) => turn !== undefined)
    .filter(({ role }) => !INSTRUCTION_ROLES.has(asText(role)))
  const latest = turns.at(-1)
  const texts = turns.filter(isUsers).map(textOf)
  return {
    text: texts.findLast((text) => text !== "") ?? "",
    unanswered: latest !== undefined && isUsers(latest) && textOf(latest) !== "" && !hasToolResult(latest)
  }
}

/** The roles of instructions from the application. Messages with these roles are not part of the conversation. */
const INSTRUCTION_ROLES: ReadonlySet<string> = new Set(["system", "developer"])

const isUsers = ({ role }: JsonObject): boolean => role === "user"

const textOf = ({ content }: JsonObject): string => {
  const texts = [content, ...asArray(content).map((part) => asObject(part)?.text)].map(asText)
  return texts.findLast((text) => text !== "") ?? ""
}

const hasToolResult = ({ content }: JsonObject): boolean =>
  asArray(content).some((part) => asObject(part)?.type === "tool_result")
