/**
 * The text of a responses request that a tokenizer would see, for the prompts whose size no supplier reported.
 *
 * Items of the input have many shapes, and new ones appear: whatever text stands in one is taken as read, but for the
 * members known to be for programs only.
 */
import { type PromptText, TOKENS_BEFORE_ANSWER, TOKENS_PER_ATTACHMENT, TOKENS_PER_MESSAGE } from "./ChatPrompt.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"

const UNREAD: ReadonlySet<string> = new Set([
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
/** Pictures, sounds and files, embedded or linked. */
const ATTACHMENTS: ReadonlySet<string> = new Set([
  "computer_screenshot",
  "image_generation_call",
  "input_audio",
  "input_file",
  "input_image"
])

/** Instructions, input, tool definitions and the format asked for. Base64 is never counted. */
export const promptText = (body: unknown): PromptText => {
  const request = asObject(body)
  const messages = [...messagesOf("system", request?.instructions), ...messagesOf("user", request?.input)]
  return {
    text: [...textsIn(messages), ...definitions(request)].join(""),
    extraTokens:
      TOKENS_BEFORE_ANSWER + messages.length * TOKENS_PER_MESSAGE + attachmentsIn(messages) * TOKENS_PER_ATTACHMENT
  }
}

/** A plain string is short for one message. */
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
        .filter(([name]) => !UNREAD.has(name))
        .map(([, member]) => member)

const definitions = (request: JsonObject | undefined): ReadonlyArray<string> =>
  [request?.tools, asObject(request?.text)?.format]
    .filter((member) => member !== undefined && member !== null)
    .map((member) => JSON.stringify(member))
