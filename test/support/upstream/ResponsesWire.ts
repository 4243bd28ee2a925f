/**
 * Creates upstream data in the wire format of the responses protocol: stream events and whole responses.
 */
import { bytes, type Script, type Step, script } from "./Script.ts"

export interface ResponsesUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens?: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

export const responsesUsage = (input: number, output: number, cached = 0, written?: number): ResponsesUsage => ({
  input_tokens: input,
  input_tokens_details: {
    cached_tokens: cached,
    ...(written === undefined ? {} : { cache_write_tokens: written })
  },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output
})

export interface ResponseParts {
  readonly content?: ReadonlyArray<string>
  readonly usage?: ResponsesUsage | undefined
  readonly id?: string
  readonly model?: string
}

export interface WireEvent {
  readonly type: string
  readonly [member: string]: unknown
}

export const begun = ({ id = "resp_up_1", model = "upstream-model" }: ResponseParts = {}) => ({
  id,
  object: "response",
  created_at: 1_700_000_000,
  status: "in_progress",
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model,
  output: [] as ReadonlyArray<object>,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: "default",
  store: false,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  truncation: "disabled",
  usage: null as ResponsesUsage | null
})

export const message = (text: string, id = "msg_up_1", status = "completed") => ({
  id,
  type: "message",
  status,
  role: "assistant",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }]
})

export const functionCall = (name: string, args: string, id = "fc_up_1", status = "completed") => ({
  id,
  type: "function_call",
  status,
  call_id: "call_1",
  name,
  arguments: args
})

/** Returns a whole response. By default its output is one message. */
export const response = (parts: ResponseParts = {}, more: object = {}) => ({
  ...begun(parts),
  status: "completed",
  output: [message((parts.content ?? ["Hello", " there"]).join(""))] as ReadonlyArray<object>,
  usage: parts.usage ?? null,
  ...more
})

export const numbered = (...events: ReadonlyArray<WireEvent>): ReadonlyArray<WireEvent> =>
  events.map(({ type, ...members }, sequence_number) => ({ type, sequence_number, ...members }))

export const created = (parts: ResponseParts = {}): WireEvent => ({ type: "response.created", response: begun(parts) })

export const textDelta = (delta: string): WireEvent => ({
  type: "response.output_text.delta",
  item_id: "msg_up_1",
  output_index: 0,
  content_index: 0,
  delta,
  logprobs: [],
  obfuscation: "kX0"
})

export const opening = (parts: ResponseParts = {}): ReadonlyArray<WireEvent> => [
  created(parts),
  { type: "response.in_progress", response: begun(parts) },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { ...message("", "msg_up_1", "in_progress"), content: [] }
  },
  {
    type: "response.content_part.added",
    item_id: "msg_up_1",
    output_index: 0,
    content_index: 0,
    part: { type: "output_text", annotations: [], logprobs: [], text: "" }
  }
]

export const closing = (parts: ResponseParts = {}): ReadonlyArray<WireEvent> => {
  const text = (parts.content ?? ["Hello", " there"]).join("")
  const at = { item_id: "msg_up_1", output_index: 0, content_index: 0 }
  return [
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    {
      type: "response.content_part.done",
      ...at,
      part: { type: "output_text", annotations: [], logprobs: [], text }
    },
    { type: "response.output_item.done", output_index: 0, item: message(text) }
  ]
}

/** Returns all events of a stream that contains one message. */
export const responseEvents = (parts: ResponseParts = {}): ReadonlyArray<WireEvent> =>
  numbered(...opening(parts), ...(parts.content ?? ["Hello", " there"]).map(textDelta), ...closing(parts), {
    type: "response.completed",
    response: response(parts)
  })

export const wireText = (event: WireEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

export const wireStep = (event: WireEvent): Step => bytes(wireText(event))

export const responseStream = (events: ReadonlyArray<WireEvent>): Script => script({ steps: events.map(wireStep) })
