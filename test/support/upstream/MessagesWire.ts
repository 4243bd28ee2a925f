/**
 * Creates upstream data in the wire format of the messages protocol: stream events, whole messages and errors.
 */
import { bytes, type Script, type Step, script, wait } from "./Script.ts"

export interface WireEvent {
  readonly type: string
  readonly [member: string]: unknown
}

export interface WireUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens?: number
  readonly cache_read_input_tokens?: number
}

export const usage = (input: number, output: number, caches: { written?: number; read?: number } = {}): WireUsage => ({
  input_tokens: input,
  cache_creation_input_tokens: caches.written ?? 0,
  cache_read_input_tokens: caches.read ?? 0,
  output_tokens: output
})

export interface MessageParts {
  readonly content?: ReadonlyArray<string>
  /** The reported usage. If absent, no usage is reported. */
  readonly usage?: WireUsage | undefined
  readonly stopReason?: string
  readonly model?: string
  readonly id?: string
}

/**
 * Returns the first event. If `usage` is given, the event reports its prompt tokens, and 7 output tokens as a
 * provisional count, as real upstreams do.
 */
export const messageStart = (parts: MessageParts = {}): WireEvent => ({
  type: "message_start",
  message: {
    ...envelope(parts),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(parts.usage === undefined ? {} : { usage: { ...parts.usage, output_tokens: 7 } })
  }
})

export const blockStart = (content_block: object, index = 0): WireEvent => ({
  type: "content_block_start",
  index,
  content_block
})
export const textStart = blockStart({ type: "text", text: "" })
export const toolStart = (id: string, name: string, index = 0): WireEvent =>
  blockStart({ type: "tool_use", id, name, input: {} }, index)

export const blockDelta = (delta: object, index = 0): WireEvent => ({ type: "content_block_delta", index, delta })
export const textDelta = (text: string, index = 0): WireEvent => blockDelta({ type: "text_delta", text }, index)
export const inputDelta = (partial_json: string, index = 0): WireEvent =>
  blockDelta({ type: "input_json_delta", partial_json }, index)

export const blockStop = (index = 0): WireEvent => ({ type: "content_block_stop", index })

export const messageDelta = (output_tokens?: number, stop_reason: string | null = "end_turn"): WireEvent => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  ...(output_tokens === undefined ? {} : { usage: { output_tokens } })
})

export const messageStop: WireEvent = { type: "message_stop" }
export const ping: WireEvent = { type: "ping" }

export const messageEvents = (parts: MessageParts = {}): ReadonlyArray<WireEvent> => {
  const { content = ["Hello", " there"], stopReason = "end_turn" } = parts
  return [
    messageStart(parts),
    ping,
    textStart,
    ...content.map((text) => textDelta(text)),
    blockStop(),
    messageDelta(parts.usage?.output_tokens, stopReason),
    messageStop
  ]
}

export const message = (parts: MessageParts = {}) => ({
  ...envelope(parts),
  content: [{ type: "text", text: (parts.content ?? ["Hello", " there"]).join("") }],
  stop_reason: parts.stopReason ?? "end_turn",
  stop_sequence: null,
  ...(parts.usage === undefined ? {} : { usage: parts.usage })
})

/** Returns an error body in Anthropic's format. An error event has the same data. */
export const errorOf = (message: string, type = "invalid_request_error"): WireEvent => ({
  type: "error",
  error: { type, message }
})

const envelope = ({ id = "msg_up1", model = "upstream-model" }: MessageParts) => ({
  id,
  type: "message",
  role: "assistant",
  model
})

export const frameOf = (event: WireEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

export const sent = (event: WireEvent): Step => bytes(frameOf(event))

export const eventStream = (events: ReadonlyArray<WireEvent>, everyMillis = 0): Script =>
  script({ steps: events.flatMap((each) => (everyMillis > 0 ? [wait(everyMillis), sent(each)] : [sent(each)])) })
