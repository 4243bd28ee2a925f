/**
 * Extracts the prompt of a chat request: messages, tool definitions and the response format.
 */
import { asArray, asObject, asText } from "./Json.ts"
import { definitionTexts, extraTokensOf, type PromptText } from "./PromptText.ts"

/** Returns the prompt text of a parsed body. Base64 data is not text: each attachment adds a fixed number of tokens. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const parts: Array<string> = []
  let messages = 0
  let attachments = 0
  for (const item of asArray(request?.messages)) {
    const message = asObject(item)
    if (message === undefined) continue
    messages += 1
    parts.push(asText(message.role), asText(message.name), asText(message.content))
    for (const part of asArray(message.content)) {
      const piece = asObject(part)
      const text = piece?.text ?? piece?.refusal
      if (piece !== undefined && typeof text !== "string") attachments += 1
      parts.push(asText(text))
    }
    for (const call of asArray(message.tool_calls)) parts.push(asText(asObject(asObject(call)?.function)?.name))
    for (const call of asArray(message.tool_calls)) parts.push(asText(asObject(asObject(call)?.function)?.arguments))
  }
  const definitions = definitionTexts([request?.tools, request?.functions, request?.response_format])
  return { text: parts.concat(definitions).join(""), extraTokens: extraTokensOf(messages, attachments) }
}
