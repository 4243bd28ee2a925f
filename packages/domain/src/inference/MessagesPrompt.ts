/**
 * The text of a messages request that a tokenizer would see, for the prompts whose size no supplier reported.
 */
import { type PromptText, TOKENS_BEFORE_ANSWER, TOKENS_PER_ATTACHMENT, TOKENS_PER_MESSAGE } from "./ChatPrompt.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"

/** System prompt, messages, tool definitions and the format asked for. Base64 is never counted. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const messages = asArray(request?.messages)
    .map(asObject)
    .filter((message) => message !== undefined)
  const contents = [request?.system, ...messages.map(({ content }) => content)]
  return {
    text: [...messages.map(({ role }) => asText(role)), ...contents.flatMap(textsIn), ...definitions(request)].join(""),
    extraTokens:
      TOKENS_BEFORE_ANSWER +
      messages.length * TOKENS_PER_MESSAGE +
      contents.reduce<number>((sum, content) => sum + attachmentsIn(content), 0) * TOKENS_PER_ATTACHMENT
  }
}

/** Content is a text or blocks; the results of tools, documents and search results hold content in turn. */
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

/** What a document says, where it is given as text or as blocks. */
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

const definitions = (request: JsonObject | undefined): ReadonlyArray<string> =>
  [request?.tools, asObject(request?.output_config)?.format, request?.output_format]
    .filter((member) => member !== undefined && member !== null)
    .map((member) => JSON.stringify(member))
