/**
 * Extracts the prompt of a chat request: messages, tool definitions and the response format.
 */
import { callsContent, detailsOf, textOf } from "./ChatDelivered.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import { definitionTexts, extraTokensOf, type PromptText } from "./PromptText.ts"

/**
 * The types of parts that are images, sounds, videos or files. The hold sets aside tokens for the same types. If the
 * count included other parts, it could exceed the hold.
 */
export const ATTACHMENTS: ReadonlyArray<string> = ["image_url", "input_audio", "video_url", "file"]

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
    parts.push(asText(message.role), asText(message.name), textOf(message.content), asText(message.refusal))
    parts.push(reasoningOf(message), callsContent(message))
    for (const part of asArray(message.content)) if (isAttachment(part)) attachments += 1
  }
  const definitions = definitionTexts([request?.tools, request?.functions, request?.response_format])
  return { text: parts.concat(definitions).join(""), extraTokens: extraTokensOf(messages, attachments) }
}

/**
 * Returns the reasoning that a client sends back in a message. Providers read different members. Each member repeats
 * the same reasoning, so only the longest is counted.
 */
const reasoningOf = ({ reasoning, reasoning_content, reasoning_details, thinking_blocks }: JsonObject): string =>
  [
    asText(reasoning_content),
    asText(reasoning),
    detailsOf(reasoning_details),
    // The form of LiteLLM: the blocks are those of the messages protocol.
    textOf(thinking_blocks)
  ].reduce((longest, text) => (text.length > longest.length ? text : longest))

const isAttachment = (part: unknown): boolean => ATTACHMENTS.includes(asText(asObject(part)?.type))
