/**
 * Extracts the prompt of a messages request: system prompt, messages, tool definitions and the requested format.
 */
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import { definitionTexts, extraTokensOf, type PromptText } from "./PromptText.ts"

/** Returns the prompt text of a parsed body. Base64 data is not text: each attachment adds a fixed number of tokens. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const messages = asArray(request?.messages)
    .map(asObject)
    .filter((message) => message !== undefined)
  const contents = [request?.system, ...messages.map(({ content }) => content)]
  const definitions = definitionTexts([
    request?.tools,
    asObject(request?.output_config)?.format,
    request?.output_format
  ])
  const attachments = contents.reduce<number>((sum, content) => sum + attachmentsIn(content), 0)
  return {
    text: [...messages.map(({ role }) => asText(role)), ...contents.flatMap(textsIn), ...definitions].join(""),
    extraTokens: extraTokensOf(messages.length, attachments)
  }
}

/**
 * Returns the texts in a string or a list of blocks. Tool results, documents and search results contain more blocks.
 */
const textsIn = (content: unknown): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : asArray(content).flatMap((item) => {
        const block = asObject(item)
        if (block === undefined) return []
        const { text, thinking, name, title, context, input } = block
        const call = asObject(input)
        return [
          ...[text, thinking, name, title, context].map(asText),
          ...(call === undefined ? [] : [JSON.stringify(call)]),
          ...textsIn(block.content),
          ...textsIn(sourceOf(block))
        ]
      })

/** Returns the content of a document that is sent as text or as blocks. */
const sourceOf = (block: JsonObject): unknown => {
  const source = asObject(block.source)
  return source?.type === "text" ? source.data : source?.type === "content" ? source.content : undefined
}

const attachmentsIn = (content: unknown): number =>
  asArray(content).reduce<number>((sum, item) => {
    const block = asObject(item) ?? {}
    const inside = sourceOf(block)
    const isAttachment = inside === undefined && (block.type === "image" || block.type === "document")
    return sum + (isAttachment ? 1 : attachmentsIn(block.content) + attachmentsIn(inside))
  }, 0)
