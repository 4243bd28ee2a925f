/**
 * Extracts the prompt of a responses request: instructions, input, tool definitions and the requested format.
 *
 * Input items have many shapes, and providers add new shapes. Therefore every text in an item is counted, except the
 * texts of attachments and of members that models do not read.
 */
import { asArray, asObject, asText } from "./Json.ts"
import { definitionTexts, extraTokensOf, type PromptText } from "./PromptText.ts"

const UNCOUNTED: ReadonlySet<string> = new Set([
  "annotations",
  "call_id",
  "detail",
  "encrypted_content",
  "id",
  "logprobs",
  "phase",
  "status",
  "type"
])
/** The types of items that are images, sounds or files, embedded or linked. */
const ATTACHMENTS: ReadonlySet<string> = new Set([
  "computer_screenshot",
  "image_generation_call",
  "input_audio",
  "input_file",
  "input_image"
])

/** Returns the prompt text of a parsed body. Base64 data is not text: each attachment adds a fixed number of tokens. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const messages = [...messagesOf("system", request?.instructions), ...messagesOf("user", request?.input)]
  return {
    text: [...textsIn(messages), ...definitionTexts([request?.tools, asObject(request?.text)?.format])].join(""),
    extraTokens: extraTokensOf(messages.length, attachmentsIn(messages))
  }
}

/** Returns the messages of a member. A plain string is one message. */
const messagesOf = (role: string, member: unknown): ReadonlyArray<unknown> =>
  typeof member === "string" ? [{ role, content: member }] : asArray(member)

const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : isAttachment(value) ? [] : readableIn(value).flatMap(textsIn)

const attachmentsIn = (value: unknown): number =>
  isAttachment(value) ? 1 : readableIn(value).reduce<number>((sum, each) => sum + attachmentsIn(each), 0)

const isAttachment = (value: unknown): boolean => ATTACHMENTS.has(asText(asObject(value)?.type))

const readableIn = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value)
    ? value
    : Object.entries(asObject(value) ?? {})
        .filter(([name]) => !UNCOUNTED.has(name))
        .map(([, member]) => member)
