/**
 * Converts a whole message to stream events, for a client that requested a stream.
 */
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

export const eventsOf = ({
  content,
  stop_reason,
  stop_sequence,
  stop_details,
  container,
  ...message
}: JsonObject): ReadonlyArray<JsonObject> => [
  { type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
  ...asArray(content).flatMap((block, index) => eventsOfBlock(asObject(block) ?? {}, index)),
  {
    type: "message_delta",
    delta: { stop_reason: stop_reason ?? "end_turn", stop_sequence: stop_sequence ?? null, stop_details, container },
    usage: message.usage
  },
  { type: "message_stop" }
]

const eventsOfBlock = (block: JsonObject, index: number): ReadonlyArray<JsonObject> => [
  { type: "content_block_start", index, content_block: emptied(block) },
  ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

/**
 * Returns the block for `content_block_start`, without the content that the deltas contain. A block without deltas is
 * unchanged.
 */
const emptied = (block: JsonObject): JsonObject => {
  if (block.type === "text") return { ...block, text: "", citations: undefined }
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" }
  return asObject(block.input) === undefined ? block : { ...block, input: {} }
}

const deltasOf = (block: JsonObject): ReadonlyArray<JsonObject> => {
  if (block.type === "text") {
    const citations = asArray(block.citations).map((citation) => ({ type: "citations_delta", citation }))
    return [...citations, { type: "text_delta", text: asText(block.text) }]
  }
  if (block.type === "thinking") {
    return [
      { type: "thinking_delta", thinking: asText(block.thinking) },
      { type: "signature_delta", signature: asText(block.signature) }
    ]
  }
  const input = asObject(block.input)
  return input === undefined || Object.keys(input).length === 0
    ? []
    : [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]
}
