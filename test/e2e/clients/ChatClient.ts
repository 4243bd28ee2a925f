/**
 * Implements the shared client interface for chat completions with OpenAI's official client.
 */
import OpenAI from "openai"
import { zodResponseFormat } from "openai/helpers/zod"
import { chatFrames, chunk, completion, type WireUsage, usage as wireUsage } from "../../support/upstream/ChatWire.ts"
import { cut, done, event, json, script, until } from "../../support/upstream/Script.ts"
import type { Answer, Ask, Connection, OfficialClient, Said } from "./OfficialClient.ts"

type Message = OpenAI.ChatCompletionMessageParam

export const chatClient: OfficialClient = {
  name: "openai for chat completions",
  path: "/v1/chat/completions",

  connect: (gatewayUrl, apiKey): Connection => {
    const { completions } = new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0 }).chat
    return {
      answer: async (ask) => answerOf(await completions.parse(requestOf(ask))),
      stream: async (ask, hear = () => {}) => {
        const stream = completions.stream({ ...requestOf(ask), stream_options: { include_usage: true } })
        stream.on("content", hear)
        return answerOf(await stream.finalChatCompletion())
      },
      iterate: async (ask, hear) => {
        for await (const { choices } of await completions.create({ ...requestOf(ask), stream: true })) {
          if (choices[0]?.delta.content) hear()
        }
      }
    }
  },

  upstream: (said, streamed) => {
    const { text, breaksAt } = said
    const reported = usageOf(said)
    const content = text === undefined ? [] : [text]
    if (breaksAt !== undefined) return script({ steps: [...chatFrames({ content }).map(event), until(breaksAt), cut] })
    const calls = callsOf(said)
    if (!streamed) {
      const answer = completion({ content, usage: reported, ...(calls && { finishReason: "tool_calls" }) })
      const [choice] = answer.choices
      const message = { ...choice?.message, ...(calls && { content: null, tool_calls: calls }) }
      return json({ ...answer, choices: [{ ...choice, message }] })
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

const requestOf = ({ model, question, picture, tool, after, thinks, shape }: Ask) => {
  const text = { type: "text" as const, text: question }
  const asked: Message = {
    role: "user",
    content:
      picture === undefined
        ? question
        : [text, { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } }]
  }
  const { call, turn } = after?.answer ?? {}
  const since: ReadonlyArray<Message> =
    after === undefined ? [] : [turn as Message, { role: "tool", tool_call_id: call?.id ?? "", content: after.found }]
  return {
    model,
    messages: [asked, ...since],
    ...(tool && { tools: [{ type: "function" as const, function: { ...tool, strict: true } }] }),
    ...(thinks && { reasoning_effort: "low" as const }),
    ...(shape && { response_format: zodResponseFormat(shape, "answer") })
  }
}

const answerOf = ({ model, choices, usage }: Awaited<ReturnType<OpenAI["chat"]["completions"]["parse"]>>): Answer => {
  const message = choices[0]?.message
  const [call] = message?.tool_calls ?? []
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
  return {
    model,
    text: message?.content ?? "",
    call: call && { id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) },
    thought: (usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0,
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
const usageOf = ({ usage: [input, output], thought }: Said): WireUsage => ({
  ...wireUsage(input, output),
  ...(thought && { completion_tokens_details: { reasoning_tokens: 1 } })
})

const callsOf = ({ call }: Said) =>
  call && [{ id: "call_1", type: "function", function: { name: call.name, arguments: JSON.stringify(call.input) } }]
