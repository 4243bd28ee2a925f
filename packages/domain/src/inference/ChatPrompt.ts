/**
 * The text of a chat request that a tokenizer would see, for the prompts whose size no supplier reported.
 */
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"

export interface PromptText {
  readonly text: string
  /** Tokens beside the text: what frames each message, and the attachments. */
  readonly extraTokens: number
}

export const TOKENS_PER_MESSAGE = 3
export const TOKENS_BEFORE_ANSWER = 3
/** An embedded or linked picture, at the size suppliers scale it to. */
export const TOKENS_PER_ATTACHMENT = 765

/** Messages, tool definitions and the response format of a parsed request body. Base64 is never counted. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const parts: Array<string> = []
  let extraTokens = TOKENS_BEFORE_ANSWER
  for (const item of asArray(request?.messages)) {
    const message = asObject(item)
    if (message === undefined) continue
    extraTokens += TOKENS_PER_MESSAGE
    parts.push(asText(message.role), asText(message.name), asText(message.content))
    for (const part of asArray(message.content)) {
      const piece = asObject(part)
      const text = asText(piece?.text) || asText(piece?.refusal)
      if (text === "" && piece !== undefined) extraTokens += TOKENS_PER_ATTACHMENT
      parts.push(text)
    }
    for (const call of asArray(message.tool_calls)) parts.push(asText(asObject(asObject(call)?.function)?.name))
    for (const call of asArray(message.tool_calls)) parts.push(asText(asObject(asObject(call)?.function)?.arguments))
  }
  return { text: parts.concat(definitions(request)).join(""), extraTokens }
}

const definitions = (request: JsonObject | undefined): ReadonlyArray<string> =>
  [request?.tools, request?.functions, request?.response_format]
    .filter((member) => member !== undefined && member !== null)
    .map((member) => JSON.stringify(member))
