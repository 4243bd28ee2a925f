/**
 * Implements the shared client interface for messages with Anthropic's official clients 0.x and 1.x.
 */
import Anthropic from "@anthropic-ai/sdk"
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod"
import FirstAnthropic from "anthropic-sdk-0"
import { zodOutputFormat as firstZodOutputFormat } from "anthropic-sdk-0/helpers/zod"
import {
  blockDelta,
  blockStart,
  blockStop,
  eventStream,
  inputDelta,
  message,
  messageDelta,
  messageEvents,
  messageStart,
  messageStop,
  sent,
  textDelta,
  toolStart,
  type WireEvent,
  usage as wireUsage
} from "../../support/upstream/MessagesWire.ts"
import { cut, json, script, until } from "../../support/upstream/Script.ts"
import type { ClientRequest, ClientResponse, Connection, OfficialClient, ScriptedContent } from "./OfficialClient.ts"

/** Both versions of the client have the methods that are called here, but with different types. */
interface Generation {
  readonly number: string
  readonly make: (options: { baseURL: string; apiKey: string; maxRetries: number }) => Anthropic
  readonly formatOf: typeof zodOutputFormat
}

const generations: ReadonlyArray<Generation> = [
  { number: "1.x", make: (options) => new Anthropic(options), formatOf: zodOutputFormat },
  {
    number: "0.x",
    make: (options) => new FirstAnthropic(options) as unknown as Anthropic,
    formatOf: firstZodOutputFormat as unknown as typeof zodOutputFormat
  }
]

export const messagesClients: ReadonlyArray<OfficialClient> = generations.map(
  ({ number, make, formatOf }): OfficialClient => ({
    name: `@anthropic-ai/sdk ${number} for messages`,
    path: "/v1/messages",

    connect: (gatewayUrl, apiKey): Connection => {
      const { messages } = make({ baseURL: gatewayUrl, apiKey, maxRetries: 0 })
      const requestOf = (request: ClientRequest) => ({
        ...plainRequestOf(request),
        ...(request.schema && { output_config: { format: formatOf(request.schema) } })
      })
      return {
        requestWhole: async (request) => responseOf(await messages.parse(requestOf(request))),
        requestStream: async (request, onText = () => {}) =>
          responseOf(await messages.stream(requestOf(request)).on("text", onText).finalMessage()),
        readEvents: async (request, onText) => {
          for await (const event of await messages.create({ ...requestOf(request), stream: true })) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") onText()
          }
        }
      }
    },

    upstream: (scripted, streamed) => {
      const { text, usage, cutBy } = scripted
      const content = text === undefined ? [] : [text]
      const parts = { content, usage: wireUsage(...usage) }
      if (cutBy !== undefined) {
        return script({ steps: [...messageEvents(parts).slice(0, 4).map(sent), until(cutBy), cut] })
      }
      const stopReason = scripted.call === undefined ? "end_turn" : "tool_use"
      if (!streamed) return json({ ...message({ ...parts, stopReason }), content: blocksOf(scripted) })
      const blockEvents = blocksOf(scripted).flatMap((block, index) => eventsOf(block, index))
      return eventStream([messageStart(parts), ...blockEvents, messageDelta(usage[1], stopReason), messageStop])
    }
  })
)

const plainRequestOf = ({ model, question, picture, tool, after, withReasoning }: ClientRequest) => {
  const userMessage: Anthropic.MessageParam = {
    role: "user",
    content: [
      ...(picture === undefined
        ? []
        : [
            {
              type: "image" as const,
              source: { type: "base64" as const, media_type: "image/png" as const, data: picture }
            }
          ]),
      { type: "text", text: question }
    ]
  }
  const { call, turn } = after?.response ?? {}
  const followUp: ReadonlyArray<Anthropic.MessageParam> =
    after === undefined
      ? []
      : [
          { role: "assistant", content: turn as Array<Anthropic.ContentBlockParam> },
          { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: after.toolResult }] }
        ]
  return {
    model,
    max_tokens: 2_000,
    messages: [userMessage, ...followUp],
    ...(tool && { tools: [{ name: tool.name, input_schema: tool.parameters }] }),
    ...(withReasoning && { thinking: { type: "enabled" as const, budget_tokens: 1_024 } })
  }
}

const responseOf = (message: Anthropic.Message & { readonly parsed_output?: unknown }): ClientResponse => {
  const { model, content, usage, parsed_output } = message
  const call = content.find((block) => block.type === "tool_use")
  const [first] = content
  return {
    model,
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    call: call && { id: call.id, name: call.name, input: call.input },
    hasReasoning: first?.type === "thinking" && first.thinking !== "" && first.signature !== "",
    parsed: parsed_output,
    usage: {
      input: usage.input_tokens,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
      cacheRead: usage.cache_read_input_tokens ?? 0,
      output: usage.output_tokens
    },
    turn: content
  }
}

type Block =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown }

const blocksOf = ({ reasoning, text, call }: ScriptedContent): ReadonlyArray<Block> => [
  ...(reasoning === undefined ? [] : [{ type: "thinking" as const, thinking: reasoning, signature: "EqQB" }]),
  ...(text === undefined ? [] : [{ type: "text" as const, text }]),
  ...(call === undefined ? [] : [{ type: "tool_use" as const, id: "toolu_1", ...call }])
]

const eventsOf = (block: Block, index: number): ReadonlyArray<WireEvent> => {
  if (block.type === "text") {
    return [blockStart({ type: "text", text: "" }, index), textDelta(block.text, index), blockStop(index)]
  }
  if (block.type === "tool_use") {
    return [toolStart(block.id, block.name, index), inputDelta(JSON.stringify(block.input), index), blockStop(index)]
  }
  return [
    blockStart({ type: "thinking", thinking: "", signature: "" }, index),
    blockDelta({ type: "thinking_delta", thinking: block.thinking }, index),
    blockDelta({ type: "signature_delta", signature: block.signature }, index),
    blockStop(index)
  ]
}
