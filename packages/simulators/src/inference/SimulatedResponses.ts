/**
 * Responses of a simulated supplier, plain and streamed, as OpenAI puts them on the wire.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { lastWords } from "./LastUserMessage.ts"
import type { PromptMemory } from "./PromptMemory.ts"
import { type Ask, type Reply, reply, silence, speaking } from "./SimulatedModel.ts"
import { type SimulatedAnswer, type SimulatedProtocol, SimulatedRefusal, type TimedFrame } from "./SimulatedProtocol.ts"
import { type Tool, type ToolOffer, toolToCall } from "./ToolChoice.ts"

export const make = (memory: PromptMemory): SimulatedProtocol => ({
  path: "/responses",
  answer: (request) =>
    Effect.gen(function* () {
      const { input } = request
      const items = typeof input === "string" && input !== "" ? [{ role: "user", content: input }] : asArray(input)
      if (items.length === 0) return yield* refusal("input: a string or an array that is not empty", "input")
      const ask = yield* readAsk(request, items)
      const prompt = promptText(request)
      const promptTokens = Number(yield* (yield* TokenCounter).count(prompt.text)) + prompt.extraTokens
      const said = yield* reply(ask)
      const response: Response = {
        id: randomUUID().replaceAll("-", ""),
        createdAt: Math.trunc((yield* Clock.currentTimeMillis) / 1_000),
        request,
        tool: ask.tool,
        reply: said,
        usage: {
          input_tokens: promptTokens,
          input_tokens_details: { cached_tokens: memory.cachedTokens([request.instructions, ...items], promptTokens) },
          output_tokens: said.tokens,
          output_tokens_details: { reasoning_tokens: said.thoughtTokens },
          total_tokens: promptTokens + said.tokens
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

const readAsk = (request: JsonObject, items: ReadonlyArray<unknown>): Effect.Effect<Ask, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(asObject(request.text)?.format)
    const isJson = format?.type === "json_object" || format?.type === "json_schema"
    const said = lastWords(conversation(items))
    return {
      said: said.text,
      maxTokens: asCount(request.max_output_tokens),
      tool: yield* toolToCall(offerOf(request), said),
      json: isJson ? { schema: format.schema } : undefined,
      thinks: thinks(request)
    }
  })

/** Parts of one message may also stand in the input without a message around them. */
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

const thinks = (request: JsonObject): boolean => {
  const reasoning = asObject(request.reasoning)
  return reasoning !== undefined && reasoning.effort !== "none"
}

/** As OpenAI repeats the request, and what came of it. */
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
  const { cut, thought } = response.reply
  return objectOf(response, {
    status: statusOf(response),
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    output: [...(thought.length > 0 ? [thoughtOf(response)] : []), answerOf(response)],
    usage: response.usage
  })
}

const statusOf = ({ reply }: Response): string => (reply.cut ? "incomplete" : "completed")

const part = (text: string): JsonObject => ({ type: "output_text", annotations: [], logprobs: [], text })

/** The last item of every response, at its end or on the way there. */
const answerOf = (
  response: Response,
  said = response.reply.pieces.join(""),
  status = statusOf(response)
): JsonObject => {
  const { id, tool } = response
  if (tool !== undefined) {
    const callId = `call_${id.slice(0, 12)}`
    return { id: `fc_${id}`, type: "function_call", status, call_id: callId, name: tool.name, arguments: said }
  }
  return { id: `msg_${id}`, type: "message", status, role: "assistant", content: said === "" ? [] : [part(said)] }
}

const summaryPart = (text: string): JsonObject => ({ type: "summary_text", text })

/** What it thought is told as a summary, and sealed for the next turn, where the caller wants the one or the other. */
const thoughtOf = ({ id, request, reply }: Response): JsonObject => ({
  id: `rs_${id}`,
  type: "reasoning",
  summary: isSummarised(request) ? [summaryPart(reply.thought.join(""))] : [],
  ...(asArray(request.include).includes("reasoning.encrypted_content") ? { encrypted_content: "simulated" } : {})
})

const isSummarised = ({ reasoning }: JsonObject): boolean => asText(asObject(reasoning)?.summary) !== ""

const plain = (response: Response): Effect.Effect<SimulatedAnswer> =>
  Effect.gen(function* () {
    const { thought, pieces } = response.reply
    return { _tag: "Whole", afterMillis: yield* silence(thought.length + pieces.length), body: ended(response) }
  })

const streamed = (response: Response): Effect.Effect<SimulatedAnswer> => {
  const events = [
    told("created", { response: begun(response) }),
    told("in_progress", { response: begun(response) }),
    ...thoughtEvents(response),
    ...answerEvents(response),
    told(statusOf(response), { response: ended(response) })
  ]
  const frames = Effect.forEach(events, ({ type, members, after }, sequence_number) =>
    Effect.map(after, (afterMillis): TimedFrame => {
      const data = JSON.stringify({ type, sequence_number, ...members })
      return { afterMillis, text: `event: ${type}\ndata: ${data}\n\n` }
    })
  )
  return Effect.map(frames, (frames) => ({ _tag: "Stream", frames }))
}

interface Told {
  readonly type: string
  readonly members: JsonObject
  /** Milliseconds since the event before it. */
  readonly after: Effect.Effect<number>
}

const told = (type: string, members: JsonObject, after: Told["after"] = Effect.succeed(0)): Told => ({
  type: `response.${type}`,
  members,
  after
})

const deltas = (type: string, pieces: ReadonlyArray<string>, members: JsonObject): ReadonlyArray<Told> =>
  pieces.map((delta) => told(`${type}.delta`, { ...members, delta }, speaking))

const thoughtEvents = (response: Response): ReadonlyArray<Told> => {
  const { thought } = response.reply
  if (thought.length === 0) return []
  const item = thoughtOf(response)
  const inItem = { output_index: 0, item_id: item.id }
  const inPart = { ...inItem, summary_index: 0 }
  const text = thought.join("")
  const summary = [
    told("reasoning_summary_part.added", { ...inPart, part: summaryPart("") }),
    ...deltas("reasoning_summary_text", thought, inPart),
    told("reasoning_summary_text.done", { ...inPart, text }),
    told("reasoning_summary_part.done", { ...inPart, part: summaryPart(text) })
  ]
  return [
    told("output_item.added", { output_index: 0, item: { ...item, summary: [] } }, silence(0)),
    ...(isSummarised(response.request) ? summary : []),
    told("output_item.done", { output_index: 0, item })
  ]
}

const answerEvents = (response: Response): ReadonlyArray<Told> => {
  const { request, tool, reply } = response
  const item = answerOf(response)
  const output_index = reply.thought.length > 0 ? 1 : 0
  const inItem = { output_index, item_id: item.id }
  const inPart = { ...inItem, content_index: 0 }
  const text = reply.pieces.join("")
  const call = [
    ...deltas("function_call_arguments", reply.pieces, inItem),
    told("function_call_arguments.done", { ...inItem, name: tool?.name, arguments: text })
  ]
  const words = [
    told("content_part.added", { ...inPart, part: part("") }),
    ...deltas("output_text", reply.pieces, { ...inPart, logprobs: [] }),
    told("output_text.done", { ...inPart, text, logprobs: [] }),
    told("content_part.done", { ...inPart, part: part(text) })
  ]
  const unheard = isSummarised(request) ? 0 : reply.thought.length
  return [
    told("output_item.added", { output_index, item: answerOf(response, "", "in_progress") }, silence(unheard)),
    ...(tool === undefined ? words : call),
    told("output_item.done", { output_index, item })
  ]
}
