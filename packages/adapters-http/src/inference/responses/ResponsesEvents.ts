/**
 * Encodes the events of a responses stream as frames. Also converts a whole response to events, for
 * a client that requested a stream.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

export interface ResponseEvent extends JsonObject {
  readonly type: string
}

export const frameOf = (event: ResponseEvent): string => frameWith(event.type, JSON.stringify(event))

/**
 * Builds a frame from the JSON text `data`, which becomes one line. JSON has line breaks only between tokens, where a
 * space means the same.
 */
export const frameWith = (type: string, data: string): string =>
  `event: ${type}\ndata: ${data.includes("\n") ? data.replaceAll("\n", " ") : data}\n\n`

/** Returns the events that a provider would have streamed for the response. */
export const eventsOf = (given: JsonObject): ReadonlyArray<ResponseEvent> => {
  const output = asArray(given.output).map((item, i) => ({ id: `item_${i}`, ...asObject(item) }))
  const response = { ...given, output }
  const started = { ...given, status: "in_progress", incomplete_details: null, output: [], usage: null }
  return [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...output.flatMap(itemEvents),
    { type: given.status === "incomplete" ? "response.incomplete" : "response.completed", response }
  ].map(({ type, ...members }, sequence_number) => ({ type, sequence_number, ...members }))
}

const itemEvents = (item: JsonObject, output_index: number): ReadonlyArray<ResponseEvent> => {
  const at = { item_id: item.id, output_index }
  return [
    { type: "response.output_item.added", output_index, item: emptied(item) },
    ...asArray(item.summary).flatMap((part, i) => partEvents("summary", { ...at, summary_index: i }, part)),
    ...asArray(item.content).flatMap((part, i) => partEvents("content", { ...at, content_index: i }, part)),
    ...callEvents(item, at),
    { type: "response.output_item.done", output_index, item }
  ]
}

/**
 * For each type of item with a member that a stream sends in deltas: this member, and the event type without its suffix
 * `.delta` or `.done`.
 */
const CALLS: ReadonlyMap<string, readonly [member: string, event: string]> = new Map([
  ["function_call", ["arguments", "response.function_call_arguments"]],
  ["mcp_call", ["arguments", "response.mcp_call_arguments"]],
  ["custom_tool_call", ["input", "response.custom_tool_call_input"]],
  ["code_interpreter_call", ["code", "response.code_interpreter_call_code"]]
])
/**
 * For each type of content or summary part with a member that a stream sends in deltas: this member, and the event
 * type, as in `CALLS`.
 */
const PARTS: ReadonlyMap<string, readonly [member: string, event: string]> = new Map([
  ["output_text", ["text", "response.output_text"]],
  ["refusal", ["refusal", "response.refusal"]],
  ["reasoning_text", ["text", "response.reasoning_text"]],
  ["summary_text", ["text", "response.reasoning_summary_text"]]
])

const callEvents = (item: JsonObject, at: JsonObject): ReadonlyArray<ResponseEvent> => {
  const [member, event] = CALLS.get(asText(item.type)) ?? []
  return member === undefined || event === undefined ? [] : textEvents(event, at, member, item[member])
}

const partEvents = (kind: "summary" | "content", at: JsonObject, given: unknown): ReadonlyArray<ResponseEvent> => {
  const part = asObject(given) ?? {}
  const [member, event] = PARTS.get(asText(part.type)) ?? []
  const wrapper = kind === "summary" ? "response.reasoning_summary_part" : "response.content_part"
  const empty = member === undefined ? part : { ...part, [member]: "" }
  return [
    { type: `${wrapper}.added`, ...at, part: empty },
    ...(member === undefined || event === undefined ? [] : textEvents(event, at, member, part[member])),
    { type: `${wrapper}.done`, ...at, part }
  ]
}

const textEvents = (event: string, at: JsonObject, member: string, given: unknown): ReadonlyArray<ResponseEvent> => {
  const text = asText(given)
  const delta = { type: `${event}.delta`, ...at, delta: text }
  const done = { type: `${event}.done`, ...at, [member]: text }
  return text === "" ? [done] : [delta, done]
}

/** Returns the item for `response.output_item.added`, without the values that later events add. */
const emptied = (item: JsonObject): JsonObject => {
  const [member] = CALLS.get(asText(item.type)) ?? []
  return {
    ...item,
    ...(item.status === undefined ? {} : { status: "in_progress" }),
    ...(Array.isArray(item.content) ? { content: [] } : {}),
    ...(Array.isArray(item.summary) ? { summary: [] } : {}),
    ...(member === undefined ? {} : { [member]: "" })
  }
}
