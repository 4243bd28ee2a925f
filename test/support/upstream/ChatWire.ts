/**
 * Creates upstream data in the wire format of chat completions: stream chunks, whole responses and errors.
 */

export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens: number }
}

export const usage = (prompt: number, completion: number, cached?: number): WireUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } })
})

export interface ChatParts {
  readonly content?: ReadonlyArray<string>
  /** The reported usage. If absent, no usage is reported. */
  readonly usage?: WireUsage | undefined
  /** The finish reason. Null omits the finish chunk. */
  readonly finishReason?: string | null
  readonly model?: string
  readonly id?: string
}

export const chunk = (delta: object, finishReason: string | null = null, parts: ChatParts = {}) => ({
  ...envelope("chat.completion.chunk", parts),
  choices: [{ index: 0, delta, finish_reason: finishReason }]
})

/** Returns the chunks of a whole stream: role, content, finish reason, usage. `[DONE]` is not included. */
export const chatFrames = (parts: ChatParts = {}): ReadonlyArray<object> => {
  const { content = ["Hello", " there"], finishReason = "stop" } = parts
  return [
    chunk({ role: "assistant", content: "" }, null, parts),
    ...content.map((piece) => chunk({ content: piece }, null, parts)),
    ...(finishReason === null ? [] : [chunk({}, finishReason, parts)]),
    ...(parts.usage === undefined ? [] : [usageChunk(parts.usage, parts)])
  ]
}

export const usageChunk = (reported: WireUsage, parts: ChatParts = {}) => ({
  ...envelope("chat.completion.chunk", parts),
  choices: [],
  usage: reported
})

export const completion = (parts: ChatParts = {}) => ({
  ...envelope("chat.completion", parts),
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: (parts.content ?? ["Hello", " there"]).join("") },
      finish_reason: parts.finishReason ?? "stop"
    }
  ],
  ...(parts.usage === undefined ? {} : { usage: parts.usage })
})

/** Returns an error body in OpenAI's format. */
export const errorBody = (message: string, code: string | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code }
})

const envelope = (object: string, { id = "chatcmpl-up-1", model = "upstream-model" }: ChatParts) => ({
  id,
  object,
  created: 1_700_000_000,
  model
})
