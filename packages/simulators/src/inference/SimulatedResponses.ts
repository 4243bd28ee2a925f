/**
 * Simulates OpenAI's Responses API, with whole and streamed responses.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import {
  type SimulatedProtocol,
  SimulatedRefusal,
  type SimulatedResponse,
  type TimedFrame
} from "../sharing/SimulatedProtocol.ts"
import { lastUserMessage } from "./LastUserMessage.ts"
import type { PromptMemory } from "./PromptMemory.ts"
import { pieceDelay, type Reply, reply, responseDelay, type SimulatedRequest } from "./SimulatedModel.ts"
import { type Tool, type ToolOffer, toolToCall } from "./ToolChoice.ts"

export const make = (memory: PromptMemory): SimulatedProtocol => ({
  path: "/responses",
  respond: (request) =>
    Effect.gen(function* () {
      const { input } = request
      const items = typeof input === "string" && input !== "" ? [{ role: "user", content: input }] : asArray(input)
      if (items.length === 0) return yield* refusal("input: a non-empty string or array is required", "input")
      const ask = yield* readRequest(request, items)
      const prompt = promptText(request)
      const promptTokens = Number(yield* (yield* TokenCounter).count(prompt.text)) + prompt.extraTokens
      const generated = yield* reply(ask)
      const response: Response = {
        id: randomUUID().replaceAll("-", ""),
        createdAt: Math.trunc((yield* Clock.currentTimeMillis) / 1_000),
        request,
        tool: ask.tool,
        reply: generated,
        usage: {
          input_tokens: promptTokens,
          input_tokens_details: { cached_tokens: memory.cachedTokens([request.instructions, ...items], promptTokens) },
          output_tokens: generated.tokens,
          output_tokens_details: { reasoning_tokens: generated.reasoningTokens },
          total_tokens: promptTokens + generated.tokens
        }
      }
      return request.stream === true ? yield* streamed(response) : yield* plain(response)
    })
})

interface Response {
  readonly id: string
  readonly createdAt: number
  readonly request: JsonObject
  readonly tool: Tool | undefined
  readonly reply: Reply
  readonly usage: JsonObject
}

const refusal = (message: string, param: string) => new SimulatedRefusal({ status: 400, message, param })

const readRequest = (
  request: JsonObject,
  items: ReadonlyArray<unknown>
): Effect.Effect<SimulatedRequest, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(asObject(request.text)?.format)
    const isJson = format?.type === "json_object" || format?.type === "json_schema"
    const userMessage = lastUserMessage(conversation(items))
    return {
      userText: userMessage.text,
      maxTokens: asCount(request.max_output_tokens),
      tool: yield* toolToCall(offerOf(request), userMessage),
      json: isJson ? { schema: format.schema } : undefined,
      usesReasoning: usesReasoning(request)
    }
  })

/** Returns the input as a list of messages. If no item has a role, the items are the parts of one user message. */
const conversation = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  items.some((item) => asText(asObject(item)?.role) !== "") ? items : [{ role: "user", content: items }]

const offerOf = ({ tools, tool_choice: choice }: JsonObject): ToolOffer => {
  const name = asText(asObject(choice)?.name)
  const functions = asArray(tools)
    .map(asObject)
    .filter((tool) => tool?.type === "function")
  return {
    tools: functions.map((tool) => ({ name: asText(tool?.name), parameters: tool?.parameters })),
    choice: name !== "" ? { name } : choice === "required" ? "any" : choice === "none" ? "none" : "auto"
  }
}

const usesReasoning = (request: JsonObject): boolean => {
  const reasoning = asObject(request.reasoning)
  return reasoning !== undefined && reasoning.effort !== "none"
}

/** Builds the response object. It repeats members of the request, as OpenAI does. */
const objectOf = ({ id, createdAt, request }: Response, outcome: JsonObject): JsonObject => ({
  id: `resp_simulated${id}`,
  object: "response",
  created_at: createdAt,
  background: false,
  error: null,
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  metadata: request.metadata ?? {},
  model: asText(request.model),
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  previous_response_id: request.previous_response_id ?? null,
  reasoning: request.reasoning ?? { effort: null, summary: null },
  service_tier: "default",
  store: request.store ?? true,
  temperature: request.temperature ?? 1,
  text: request.text ?? { format: { type: "text" } },
  tool_choice: request.tool_choice ?? "auto",
  tools: request.tools ?? [],
  top_p: request.top_p ?? 1,
  truncation: request.truncation ?? "disabled",
  ...outcome
})

const begun = (response: Response): JsonObject =>
  objectOf(response, { status: "in_progress", incomplete_details: null, output: [], usage: null })

const ended = (response: Response): JsonObject => {
  const { cut, reasoning } = response.reply
  return objectOf(response, {
    status: statusOf(response),
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    output: [...(reasoning.length > 0 ? [reasoningItemOf(response)] : []), outputItemOf(response)],
    usage: response.usage
  })
}

const statusOf = ({ reply }: Response): string => (reply.cut ? "incomplete" : "completed")

const part = (text: string): JsonObject => ({ type: "output_text", annotations: [], logprobs: [], text })

/** Builds the last item of a response: a function call or a message. */
const outputItemOf = (
  response: Response,
  content = response.reply.pieces.join(""),
  status = statusOf(response)
): JsonObject => {
  const { id, tool } = response
  if (tool !== undefined) {
    const callId = `call_${id.slice(0, 12)}`
    return { id: `fc_${id}`, type: "function_call", status, call_id: callId, name: tool.name, arguments: content }
  }
  return { id: `msg_${id}`, type: "message", status, role: "assistant", content: content === "" ? [] : [part(content)] }
}

const summaryPart = (text: string): JsonObject => ({ type: "summary_text", text })

/**
 * Builds the reasoning item. The item contains a summary only if the request sets `reasoning.summary`, and encrypted
 * content only if `include` names it.
 */
const reasoningItemOf = ({ id, request, reply }: Response): JsonObject => ({
  id: `rs_${id}`,
  type: "reasoning",
  summary: isSummarised(request) ? [summaryPart(reply.reasoning.join(""))] : [],
  ...(asArray(request.include).includes("reasoning.encrypted_content") ? { encrypted_content: "simulated" } : {})
})

const isSummarised = ({ reasoning }: JsonObject): boolean => asText(asObject(reasoning)?.summary) !== ""

const plain = (response: Response): Effect.Effect<SimulatedResponse> =>
  Effect.gen(function* () {
    const { reasoning, pieces } = response.reply
    return { _tag: "Whole", afterMillis: yield* responseDelay(reasoning.length + pieces.length), body: ended(response) }
  })

const streamed = (response: Response): Effect.Effect<SimulatedResponse> => {
  const events = [
    timedEvent("created", { response: begun(response) }),
    timedEvent("in_progress", { response: begun(response) }),
    ...reasoningEvents(response),
    ...outputEvents(response),
    timedEvent(statusOf(response), { response: ended(response) })
  ]
  const frames = Effect.forEach(events, ({ type, members, after }, sequence_number) =>
    Effect.map(after, (afterMillis): TimedFrame => {
      const data = JSON.stringify({ type, sequence_number, ...members })
      return { afterMillis, text: `event: ${type}\ndata: ${data}\n\n` }
    })
  )
  return Effect.map(frames, (frames) => ({ _tag: "Stream", frames }))
}

interface TimedEvent {
  readonly type: string
  readonly members: JsonObject
  /** The delay in milliseconds between the previous event and this event. */
  readonly after: Effect.Effect<number>
}

const timedEvent = (type: string, members: JsonObject, after: TimedEvent["after"] = Effect.succeed(0)): TimedEvent => ({
  type: `response.${type}`,
  members,
  after
})

const deltas = (type: string, pieces: ReadonlyArray<string>, members: JsonObject): ReadonlyArray<TimedEvent> =>
  pieces.map((delta) => timedEvent(`${type}.delta`, { ...members, delta }, pieceDelay))

const reasoningEvents = (response: Response): ReadonlyArray<TimedEvent> => {
  const { reasoning } = response.reply
  if (reasoning.length === 0) return []
  const item = reasoningItemOf(response)
  const inItem = { output_index: 0, item_id: item.id }
  const inPart = { ...inItem, summary_index: 0 }
  const text = reasoning.join("")
  const summary = [
    timedEvent("reasoning_summary_part.added", { ...inPart, part: summaryPart("") }),
    ...deltas("reasoning_summary_text", reasoning, inPart),
    timedEvent("reasoning_summary_text.done", { ...inPart, text }),
    timedEvent("reasoning_summary_part.done", { ...inPart, part: summaryPart(text) })
  ]
  return [
    timedEvent("output_item.added", { output_index: 0, item: { ...item, summary: [] } }, responseDelay(0)),
    ...(isSummarised(response.request) ? summary : []),
    timedEvent("output_item.done", { output_index: 0, item })
  ]
}

const outputEvents = (response: Response): ReadonlyArray<TimedEvent> => {
  const { request, tool, reply } = response
  const item = outputItemOf(response)
  const output_index = reply.reasoning.length > 0 ? 1 : 0
  const inItem = { output_index, item_id: item.id }
  const inPart = { ...inItem, content_index: 0 }
  const text = reply.pieces.join("")
  const call = [
    ...deltas("function_call_arguments", reply.pieces, inItem),
    timedEvent("function_call_arguments.done", { ...inItem, name: tool?.name, arguments: text })
  ]
  const words = [
    timedEvent("content_part.added", { ...inPart, part: part("") }),
    ...deltas("output_text", reply.pieces, { ...inPart, logprobs: [] }),
    timedEvent("output_text.done", { ...inPart, text, logprobs: [] }),
    timedEvent("content_part.done", { ...inPart, part: part(text) })
  ]
  const hiddenPieces = isSummarised(request) ? 0 : reply.reasoning.length
  return [
    timedEvent(
      "output_item.added",
      { output_index, item: outputItemOf(response, "", "in_progress") },
      responseDelay(hiddenPieces)
    ),
    ...(tool === undefined ? words : call),
    timedEvent("output_item.done", { output_index, item })
  ]
}
