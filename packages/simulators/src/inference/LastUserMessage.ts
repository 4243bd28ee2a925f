/**
 * What the user said last in a conversation, in the words of any protocol: the last text of a message, since clients
 * put what they have to add before it.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

export interface LastUserMessage {
  readonly text: string
  /** Nobody has said anything since, and no tool has answered. */
  readonly unanswered: boolean
}

export const lastWords = (conversation: ReadonlyArray<unknown>): LastUserMessage => {
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

/** Who speaks for the application; wherever they stand, they are not part of the talk. */
const OPERATORS: ReadonlySet<string> = new Set(["system", "developer"])

const isUsers = ({ role }: JsonObject): boolean => role === "user"

const textOf = ({ content }: JsonObject): string => {
  const texts = [content, ...asArray(content).map((part) => asObject(part)?.text)].map(asText)
  return texts.findLast((text) => text !== "") ?? ""
}

const hasToolResult = ({ content }: JsonObject): boolean =>
  asArray(content).some((part) => asObject(part)?.type === "tool_result")
