/**
 * Simulates Anthropic's Messages API, with whole and streamed responses and token counts.
 */
import { randomUUID } from "node:crypto"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { promptText } from "@tollgate/domain/inference/MessagesPrompt"
import * as Effect from "effect/Effect"
import {
  type SimulatedProtocol,
  SimulatedRefusal,
  type SimulatedResponse,
  type TimedFrame
} from "../sharing/SimulatedProtocol.ts"
import { lastUserMessage } from "./LastUserMessage.ts"
import type { PromptMemory } from "./PromptMemory.ts"
import {
  firstPieceDelay,
  pieceDelay,
  type Reply,
  reply,
  responseDelay,
  type SimulatedRequest
} from "./SimulatedModel.ts"
import { type Tool, type ToolOffer, toolToCall } from "./ToolChoice.ts"

export const make = (memory: PromptMemory): SimulatedProtocol => ({
  path: "/messages",
  respond: (request) =>
    Effect.gen(function* () {
      const messages = yield* messagesOf(request)
      const maxTokens = asCount(request.max_tokens)
      if (maxTokens === undefined) return yield* refusal("max_tokens: a number is required", "max_tokens")
      const ask = yield* readRequest(request, messages, maxTokens)
      const promptTokens = yield* countPrompt(request)
      const message: Message = {
        id: `msg_simulated${randomUUID().replaceAll("-", "")}`,
        model: asText(request.model),
        tool: ask.tool,
        reply: yield* reply(ask),
        usage: usageOf(request, promptTokens, memory.cachedTokens([request.system, ...messages], promptTokens))
      }
      return request.stream === true ? yield* streamed(message) : yield* plain(message)
    })
})

/** Makes the simulation of the path that counts the tokens of a prompt. */
export const makeCount = (): SimulatedProtocol => ({
  path: "/messages/count_tokens",
  respond: (request) =>
    Effect.gen(function* () {
      yield* messagesOf(request)
      return { _tag: "Whole", afterMillis: 0, body: { input_tokens: yield* countPrompt(request) } }
    })
})

interface Message {
  readonly id: string
  readonly model: string
  readonly tool: Tool | undefined
  readonly reply: Reply
  readonly usage: JsonObject
}

/** The signature of simulated reasoning; a real provider sends a cryptographic signature. */
const SIGNATURE = "simulated"

const refusal = (message: string, param: string) => new SimulatedRefusal({ status: 400, message, param })

const messagesOf = (request: JsonObject): Effect.Effect<ReadonlyArray<unknown>, SimulatedRefusal> => {
  const messages = asArray(request.messages)
  return messages.length === 0 ? refusal("messages: at least one is required", "messages") : Effect.succeed(messages)
}

const countPrompt = (request: JsonObject): Effect.Effect<number, never, TokenCounter> =>
  Effect.gen(function* () {
    const { text, extraTokens } = promptText(request)
    return Number(yield* (yield* TokenCounter).count(text)) + extraTokens
  })

const readRequest = (
  request: JsonObject,
  messages: ReadonlyArray<unknown>,
  maxTokens: number
): Effect.Effect<SimulatedRequest, SimulatedRefusal> =>
  Effect.gen(function* () {
    const format = asObject(asObject(request.output_config)?.format) ?? asObject(request.output_format)
    const userMessage = lastUserMessage(messages)
    return {
      userText: userMessage.text,
      maxTokens,
      tool: yield* toolToCall(offerOf(request), userMessage),
      json: format?.type === "json_schema" ? { schema: format.schema } : undefined,
      usesReasoning: usesReasoning(request)
    }
  })

const offerOf = (request: JsonObject): ToolOffer => {
  const { type, name } = asObject(request.tool_choice) ?? {}
  // Omit the tools that the provider itself runs. They have no schema.
  const offered = asArray(request.tools)
    .map(asObject)
    .filter((tool) => tool?.input_schema !== undefined)
  return {
    tools: offered.map((tool) => ({ name: asText(tool?.name), parameters: tool?.input_schema })),
    choice: type === "tool" ? { name: asText(name) } : type === "any" || type === "none" ? type : "auto"
  }
}

const usesReasoning = (request: JsonObject): boolean => {
  const type = asObject(request.thinking)?.type
  return type === "enabled" || type === "adaptive"
}

/** Returns the usage. The cache is used only if the request contains a `cache_control` object. */
const usageOf = (request: JsonObject, promptTokens: number, cached: number): JsonObject => {
  const caches = JSON.stringify(request).includes('"cache_control":{')
  const read = caches ? cached : 0
  const input = caches ? Math.min(UNCACHED_TOKENS, promptTokens - read) : promptTokens
  return {
    input_tokens: input,
    cache_creation_input_tokens: promptTokens - read - input,
    cache_read_input_tokens: read,
    service_tier: "standard"
  }
}

/** The assumed number of prompt tokens after the last `cache_control` object. */
const UNCACHED_TOKENS = 3

const stopReason = ({ tool, reply }: Message): string =>
  reply.cut ? "max_tokens" : tool === undefined ? "end_turn" : "tool_use"

const toolBlock = ({ id, tool }: Message, input: unknown): JsonObject => ({
  type: "tool_use",
  id: `toolu_${id.slice(-12)}`,
  name: tool?.name,
  input
})

const plain = (message: Message): Effect.Effect<SimulatedResponse> =>
  Effect.gen(function* () {
    const { id, model, tool, reply, usage } = message
    const text = reply.pieces.join("")
    const reasoning = reply.reasoning.join("")
    const content = [
      ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: SIGNATURE }]),
      tool === undefined ? { type: "text", text } : toolBlock(message, inputOf(reply))
    ]
    return {
      _tag: "Whole",
      afterMillis: yield* responseDelay(reply.reasoning.length + reply.pieces.length),
      body: {
        id,
        type: "message",
        role: "assistant",
        model,
        content,
        stop_reason: stopReason(message),
        stop_sequence: null,
        usage: { ...usage, output_tokens: reply.tokens }
      }
    }
  })

/**
 * Returns the tool input of a whole message. If the token limit cut the input, it is not valid JSON, so an empty object
 * is returned.
 */
const inputOf = ({ pieces, cut }: Reply): unknown => (cut ? {} : JSON.parse(pieces.join("")))

const streamed = (message: Message): Effect.Effect<SimulatedResponse> =>
  Effect.gen(function* () {
    const { id, model, tool, reply, usage } = message
    const frames: Array<TimedFrame> = []
    const addFrame = (event: JsonObject, afterMillis = 0) =>
      frames.push({ afterMillis, text: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n` })
    const delta = (index: number, delta: JsonObject, afterMillis = 0) =>
      addFrame({ type: "content_block_delta", index, delta }, afterMillis)

    const beginning = { id, type: "message", role: "assistant", model, content: [] }
    addFrame(
      {
        type: "message_start",
        message: { ...beginning, stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } }
      },
      yield* firstPieceDelay
    )
    addFrame({ type: "ping" })
    let index = 0
    if (reply.reasoning.length > 0) {
      addFrame({ type: "content_block_start", index, content_block: { type: "thinking", thinking: "", signature: "" } })
      for (const thinking of reply.reasoning) delta(index, { type: "thinking_delta", thinking }, yield* pieceDelay)
      delta(index, { type: "signature_delta", signature: SIGNATURE })
      addFrame({ type: "content_block_stop", index })
      index += 1
    }
    const block = tool === undefined ? { type: "text", text: "" } : toolBlock(message, {})
    addFrame({ type: "content_block_start", index, content_block: block })
    for (const text of reply.pieces) {
      const piece = tool === undefined ? { type: "text_delta", text } : { type: "input_json_delta", partial_json: text }
      delta(index, piece, yield* pieceDelay)
    }
    addFrame({ type: "content_block_stop", index })
    const end = { stop_reason: stopReason(message), stop_sequence: null }
    addFrame({ type: "message_delta", delta: end, usage: { output_tokens: reply.tokens } })
    addFrame({ type: "message_stop" })
    return { _tag: "Stream", frames }
  })
