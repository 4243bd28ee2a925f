/**
 * Simulates OpenAI's chat completions API, with whole and streamed responses.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
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
  path: "/chat/completions",
  respond: (request) =>
    Effect.gen(function* () {
      const messages = asArray(request.messages)
      if (messages.length === 0) {
        return yield* new SimulatedRefusal({
          status: 400,
          message: "messages: at least one is required",
          param: "messages"
        })
      }
      const ask = yield* readRequest(request, messages)
      const counter = yield* TokenCounter
      const prompt = promptText(request)
      const promptTokens = Number(yield* counter.count(prompt.text)) + prompt.extraTokens
      const generated = yield* reply(ask)
      const completion: Completion = {
        id: `chatcmpl-simulated-${randomUUID()}`,
        created: Math.trunc((yield* Clock.currentTimeMillis) / 1_000),
        model: asText(request.model),
        tool: ask.tool,
        reply: generated,
        usage: {
          prompt_tokens: promptTokens,
          completion_tokens: generated.tokens,
          total_tokens: promptTokens + generated.tokens,
          prompt_tokens_details: { cached_tokens: memory.cachedTokens(messages, promptTokens) },
          completion_tokens_details: { reasoning_tokens: generated.reasoningTokens }
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
  readonly tool: Tool | undefined
  readonly reply: Reply
  readonly usage: JsonObject
}

const readRequest = (
  request: JsonObject,
  messages: ReadonlyArray<unknown>
): Effect.Effect<SimulatedRequest, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(request.response_format)
    const isJson = format?.type === "json_object" || format?.type === "json_schema"
    const userMessage = lastUserMessage(messages)
    return {
      userText: userMessage.text,
      maxTokens: asCount(request.max_completion_tokens) ?? asCount(request.max_tokens),
      tool: yield* toolToCall(offerOf(request), userMessage),
      json: isJson ? { schema: asObject(format.json_schema)?.schema } : undefined,
      // The chat completions API counts reasoning tokens but never sends their text.
      usesReasoning: asText(request.reasoning_effort) !== "" && request.reasoning_effort !== "none"
    }
  })

const offerOf = ({ tools, tool_choice: choice }: JsonObject): ToolOffer => {
  const name = asText(asObject(asObject(choice)?.function)?.name)
  const functions = asArray(tools)
    .map((tool) => asObject(asObject(tool)?.function))
    .filter((tool) => tool !== undefined)
  return {
    tools: functions.map(({ name, parameters }) => ({ name: asText(name), parameters })),
    choice: name !== "" ? { name } : choice === "required" ? "any" : choice === "none" ? "none" : "auto"
  }
}

const finishReason = ({ tool, reply }: Completion): string =>
  reply.cut ? "length" : tool === undefined ? "stop" : "tool_calls"

const plain = (completion: Completion): Effect.Effect<SimulatedResponse> =>
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
      afterMillis: yield* responseDelay(reply.reasoning.length + reply.pieces.length),
      body: { id, object: "chat.completion", created, model, choices: [choice], usage }
    }
  })

const streamed = (completion: Completion, includeUsage: boolean): Effect.Effect<SimulatedResponse> =>
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

    const frames: Array<TimedFrame> = [
      { afterMillis: yield* responseDelay(reply.reasoning.length), text: chunk(opening) }
    ]
    for (const text of reply.pieces) frames.push({ afterMillis: yield* pieceDelay, text: chunk(piece(text)) })
    frames.push({ afterMillis: 0, text: chunk({}, finishReason(completion)) })
    if (includeUsage) frames.push({ afterMillis: 0, text: frame({ choices: [], usage }) })
    frames.push({ afterMillis: 0, text: "data: [DONE]\n\n" })
    return { _tag: "Stream", frames }
  })

const callId = (id: string): string => `call_${id.slice(-12)}`
