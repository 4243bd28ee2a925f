/**
 * Responses of a simulated supplier, plain and streamed, as OpenAI puts them on the wire.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/ports/TokenCounter"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { PromptMemory } from "./PromptMemory.ts"
import { type Ask, type ForcedTool, type Reply, reply, speaking, thinking } from "./SimulatedModel.ts"
import { type SimulatedAnswer, type SimulatedProtocol, SimulatedRefusal, type TimedFrame } from "./SimulatedProtocol.ts"

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
          output_tokens_details: { reasoning_tokens: 0 },
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
  readonly tool: ForcedTool | undefined
  readonly reply: Reply
  readonly usage: JsonObject
}

const refusal = (message: string, param: string) => new SimulatedRefusal({ status: 400, message, param })

const readAsk = (request: JsonObject, items: ReadonlyArray<unknown>): Effect.Effect<Ask, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(asObject(request.text)?.format)
    const isJson = format?.type === "json_object" || format?.type === "json_schema"
    return {
      said: lastUserText(items),
      maxTokens: asCount(request.max_output_tokens),
      tool: yield* forcedTool(request),
      json: isJson ? { schema: format.schema } : undefined
    }
  })

/** Parts of one message may also stand in the input without a message around them. */
const lastUserText = (items: ReadonlyArray<unknown>): string => {
  const message = items.map(asObject).findLast((each) => each?.role === "user")
  const parts = asArray(message?.content ?? items).map((part) => asText(asObject(part)?.text))
  return asText(message?.content) || parts.join(" ")
}

/** Tools are called only where the caller insists; otherwise the model prefers to talk. */
const forcedTool = (request: JsonObject): Effect.Effect<ForcedTool | undefined, SimulatedRefusal> => {
  const choice = request.tool_choice
  const wanted = asText(asObject(choice)?.name)
  if (choice !== "required" && wanted === "") return Effect.succeed(undefined)
  const functions = asArray(request.tools)
    .map(asObject)
    .filter((tool) => tool?.type === "function")
  const tool = functions.find((each) => wanted === "" || each?.name === wanted)
  return tool === undefined
    ? refusal("tool_choice: no such tool", "tool_choice")
    : Effect.succeed({ name: asText(tool.name), parameters: tool.parameters })
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
  const { cut } = response.reply
  return objectOf(response, {
    status: cut ? "incomplete" : "completed",
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    output: [itemOf(response, response.reply.pieces.join(""), cut ? "incomplete" : "completed")],
    usage: response.usage
  })
}

const part = (text: string): JsonObject => ({ type: "output_text", annotations: [], logprobs: [], text })

/** The one item of every simulated response. */
const itemOf = ({ id, tool }: Response, said: string, status: string): JsonObject => {
  if (tool !== undefined) {
    const callId = `call_${id.slice(0, 12)}`
    return { id: `fc_${id}`, type: "function_call", status, call_id: callId, name: tool.name, arguments: said }
  }
  return { id: `msg_${id}`, type: "message", status, role: "assistant", content: said === "" ? [] : [part(said)] }
}

const plain = (response: Response): Effect.Effect<SimulatedAnswer> =>
  Effect.gen(function* () {
    const afterMillis = (yield* thinking) + response.reply.pieces.length * (yield* speaking)
    return { _tag: "Whole", afterMillis, body: ended(response) }
  })

const streamed = (response: Response): Effect.Effect<SimulatedAnswer> =>
  Effect.gen(function* () {
    const { tool, reply } = response
    const frames: Array<TimedFrame> = []
    const say = (type: string, members: JsonObject, afterMillis = 0) => {
      const event = { type, sequence_number: frames.length, ...members }
      frames.push({ afterMillis, text: `event: ${type}\ndata: ${JSON.stringify(event)}\n\n` })
    }
    const end = ended(response)
    const [item] = asArray(end.output).map(asObject)
    const text = reply.pieces.join("")
    const inItem = { item_id: item?.id, output_index: 0 }
    const inPart = { ...inItem, content_index: 0 }

    say("response.created", { response: begun(response) })
    say("response.in_progress", { response: begun(response) })
    say("response.output_item.added", { output_index: 0, item: itemOf(response, "", "in_progress") }, yield* thinking)
    if (tool !== undefined) {
      for (const delta of reply.pieces)
        say("response.function_call_arguments.delta", { ...inItem, delta }, yield* speaking)
      say("response.function_call_arguments.done", { ...inItem, name: tool.name, arguments: text })
    } else {
      say("response.content_part.added", { ...inPart, part: part("") })
      for (const delta of reply.pieces)
        say("response.output_text.delta", { ...inPart, delta, logprobs: [] }, yield* speaking)
      say("response.output_text.done", { ...inPart, text, logprobs: [] })
      say("response.content_part.done", { ...inPart, part: part(text) })
    }
    say("response.output_item.done", { output_index: 0, item })
    say(reply.cut ? "response.incomplete" : "response.completed", { response: end })
    return { _tag: "Stream", frames }
  })
