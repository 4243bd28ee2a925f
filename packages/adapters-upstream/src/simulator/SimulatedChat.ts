/**
 * Chat completions of a simulated supplier, plain and streamed, as OpenAI puts them on the wire.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/ports/TokenCounter"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { PromptMemory } from "./PromptMemory.ts"
import { type Ask, type ForcedTool, type Reply, reply, speaking, thinking } from "./SimulatedModel.ts"
import { type SimulatedAnswer, type SimulatedProtocol, SimulatedRefusal, type TimedFrame } from "./SimulatedProtocol.ts"

export const make = (memory: PromptMemory): SimulatedProtocol => ({
  path: "/chat/completions",
  answer: (request) =>
    Effect.gen(function* () {
      const messages = asArray(request.messages)
      if (messages.length === 0) {
        return yield* new SimulatedRefusal({ status: 400, message: "messages: at least one", param: "messages" })
      }
      const ask = yield* readAsk(request, messages)
      const counter = yield* TokenCounter
      const prompt = promptText(request)
      const promptTokens = Number(yield* counter.count(prompt.text)) + prompt.extraTokens
      const said = yield* reply(ask)
      const completion: Completion = {
        id: `chatcmpl-simulated-${randomUUID()}`,
        created: Math.trunc((yield* Clock.currentTimeMillis) / 1_000),
        model: asText(request.model),
        tool: ask.tool,
        reply: said,
        usage: {
          prompt_tokens: promptTokens,
          completion_tokens: said.tokens,
          total_tokens: promptTokens + said.tokens,
          prompt_tokens_details: { cached_tokens: memory.cachedTokens(messages, promptTokens) }
        }
      }
      return request.stream === true
        ? yield* streamed(completion, asObject(request.stream_options)?.include_usage === true)
        : yield* plain(completion)
    })
})

interface Completion {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly tool: ForcedTool | undefined
  readonly reply: Reply
  readonly usage: JsonObject
}

const readAsk = (request: JsonObject, messages: ReadonlyArray<unknown>): Effect.Effect<Ask, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(request.response_format)
    const isJson = format?.type === "json_object" || format?.type === "json_schema"
    return {
      said: lastUserText(messages),
      maxTokens: asCount(request.max_completion_tokens) ?? asCount(request.max_tokens),
      tool: yield* forcedTool(request),
      json: isJson ? { schema: asObject(format.json_schema)?.schema } : undefined
    }
  })

const lastUserText = (messages: ReadonlyArray<unknown>): string => {
  const message = messages.map(asObject).findLast((each) => each?.role === "user")
  const parts = asArray(message?.content).map((part) => asText(asObject(part)?.text))
  return asText(message?.content) || parts.join(" ")
}

/** Tools are called only where the caller insists; otherwise the model prefers to talk. */
const forcedTool = (request: JsonObject): Effect.Effect<ForcedTool | undefined, SimulatedRefusal> => {
  const choice = request.tool_choice
  const wanted = asText(asObject(asObject(choice)?.function)?.name)
  if (choice !== "required" && wanted === "") return Effect.succeed(undefined)
  const tools = asArray(request.tools).map((tool) => asObject(asObject(tool)?.function))
  const tool = tools.find((each) => wanted === "" || each?.name === wanted)
  return tool === undefined
    ? new SimulatedRefusal({ status: 400, message: "tool_choice: no such tool", param: "tool_choice" })
    : Effect.succeed({ name: asText(tool.name), parameters: tool.parameters })
}

const finishReason = ({ tool, reply }: Completion): string =>
  reply.cut ? "length" : tool === undefined ? "stop" : "tool_calls"

const plain = (completion: Completion): Effect.Effect<SimulatedAnswer> =>
  Effect.gen(function* () {
    const { id, created, model, tool, reply, usage } = completion
    const text = reply.pieces.join("")
    const call = { id: callId(id), type: "function", function: { name: tool?.name, arguments: text } }
    const message = {
      role: "assistant",
      content: tool === undefined ? text : null,
      refusal: null,
      ...(tool === undefined ? {} : { tool_calls: [call] })
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(completion) }
    return {
      _tag: "Whole",
      afterMillis: (yield* thinking) + reply.pieces.length * (yield* speaking),
      body: { id, object: "chat.completion", created, model, choices: [choice], usage }
    }
  })

const streamed = (completion: Completion, includeUsage: boolean): Effect.Effect<SimulatedAnswer> =>
  Effect.gen(function* () {
    const { id, created, model, tool, reply, usage } = completion
    const frame = (members: JsonObject): string =>
      `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created, model, ...members, ...(includeUsage && !("usage" in members) ? { usage: null } : {}) })}\n\n`
    const chunk = (delta: JsonObject, finish: string | null = null): string =>
      frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })
    const opening =
      tool === undefined
        ? { role: "assistant", content: "", refusal: null }
        : {
            role: "assistant",
            content: null,
            tool_calls: [{ index: 0, id: callId(id), type: "function", function: { name: tool.name, arguments: "" } }]
          }
    const piece = (text: string): JsonObject =>
      tool === undefined ? { content: text } : { tool_calls: [{ index: 0, function: { arguments: text } }] }

    const frames: Array<TimedFrame> = [{ afterMillis: yield* thinking, text: chunk(opening) }]
    for (const text of reply.pieces) frames.push({ afterMillis: yield* speaking, text: chunk(piece(text)) })
    frames.push({ afterMillis: 0, text: chunk({}, finishReason(completion)) })
    if (includeUsage) frames.push({ afterMillis: 0, text: frame({ choices: [], usage }) })
    frames.push({ afterMillis: 0, text: "data: [DONE]\n\n" })
    return { _tag: "Stream", frames }
  })

const callId = (id: string): string => `call_${id.slice(-12)}`
