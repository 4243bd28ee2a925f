/**
 * Implements the shared client interface for chat completions with OpenAI's official client.
 */
import OpenAI from "openai"
import { zodResponseFormat } from "openai/helpers/zod"
import { chatFrames, chunk, completion, type WireUsage, usage as wireUsage } from "../../support/upstream/ChatWire.ts"
import { cut, done, event, json, script, until } from "../../support/upstream/Script.ts"
import type { ClientRequest, ClientResponse, Connection, OfficialClient, ScriptedContent } from "./OfficialClient.ts"

type Message = OpenAI.ChatCompletionMessageParam

export const chatClient: OfficialClient = {
  name: "openai for chat completions",
  path: "/v1/chat/completions",

  connect: (gatewayUrl, apiKey): Connection => {
    const { completions } = new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0 }).chat
    return {
      requestWhole: async (request) => responseOf(await completions.parse(requestOf(request))),
      requestStream: async (request, onText = () => {}) => {
        const stream = completions.stream({ ...requestOf(request), stream_options: { include_usage: true } })
        stream.on("content", onText)
        return responseOf(await stream.finalChatCompletion())
      },
      readEvents: async (request, onText) => {
        for await (const { choices } of await completions.create({ ...requestOf(request), stream: true })) {
          if (choices[0]?.delta.content) onText()
        }
      }
    }
  },

  upstream: (scripted, streamed) => {
    const { text, cutBy } = scripted
    const reported = usageOf(scripted)
    const content = text === undefined ? [] : [text]
    if (cutBy !== undefined) return script({ steps: [...chatFrames({ content }).map(event), until(cutBy), cut] })
    const calls = callsOf(scripted)
    if (!streamed) {
      const whole = completion({ content, usage: reported, ...(calls && { finishReason: "tool_calls" }) })
      const [choice] = whole.choices
      const message = { ...choice?.message, ...(calls && { content: null, tool_calls: calls }) }
      return json({ ...whole, choices: [{ ...choice, message }] })
    }
    const frames =
      calls === undefined
        ? chatFrames({ content, usage: reported })
        : [
            chunk({ role: "assistant", content: null, tool_calls: calls.map((call, index) => ({ index, ...call })) }),
            ...chatFrames({ content: [], finishReason: "tool_calls", usage: reported }).slice(1)
          ]
    return script({ steps: [...frames.map(event), done] })
  }
}

const requestOf = ({ model, question, picture, tool, after, withReasoning, schema }: ClientRequest) => {
  const text = { type: "text" as const, text: question }
  const userMessage: Message = {
    role: "user",
    content:
      picture === undefined
        ? question
        : [text, { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } }]
  }
  const { call, turn } = after?.response ?? {}
  const followUp: ReadonlyArray<Message> =
    after === undefined
      ? []
      : [turn as Message, { role: "tool", tool_call_id: call?.id ?? "", content: after.toolResult }]
  return {
    model,
    messages: [userMessage, ...followUp],
    ...(tool && { tools: [{ type: "function" as const, function: { ...tool, strict: true } }] }),
    ...(withReasoning && { reasoning_effort: "low" as const }),
    ...(schema && { response_format: zodResponseFormat(schema, "answer") })
  }
}

const responseOf = ({
  model,
  choices,
  usage
}: Awaited<ReturnType<OpenAI["chat"]["completions"]["parse"]>>): ClientResponse => {
  const message = choices[0]?.message
  const [call] = message?.tool_calls ?? []
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
  return {
    model,
    text: message?.content ?? "",
    call: call && { id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) },
    hasReasoning: (usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0,
    parsed: message?.parsed,
    usage: {
      input: (usage?.prompt_tokens ?? 0) - cached,
      cacheWrite: 0,
      cacheRead: cached,
      output: usage?.completion_tokens ?? 0
    },
    turn: message && { role: "assistant", content: message.content, tool_calls: message.tool_calls }
  }
}

/** Returns the reported usage. Chat completions report reasoning only as a number of tokens, not as text. */
const usageOf = ({ usage: [input, output], reasoning }: ScriptedContent): WireUsage => ({
  ...wireUsage(input, output),
  ...(reasoning && { completion_tokens_details: { reasoning_tokens: 1 } })
})

const callsOf = ({ call }: ScriptedContent) =>
  call && [{ id: "call_1", type: "function", function: { name: call.name, arguments: JSON.stringify(call.input) } }]
