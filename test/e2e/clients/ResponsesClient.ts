/**
 * Implements the shared client interface for responses with OpenAI's official client.
 */
import OpenAI from "openai"
import { zodTextFormat } from "openai/helpers/zod"
import type { ParsedResponse } from "openai/resources/responses/responses"
import {
  created,
  functionCall,
  message,
  numbered,
  opening,
  response,
  responsesUsage,
  textDelta,
  type WireEvent,
  wireStep
} from "../../support/upstream/ResponsesWire.ts"
import { cut, json, script, until } from "../../support/upstream/Script.ts"
import type { Answer, Ask, Connection, OfficialClient, Said } from "./OfficialClient.ts"

type Item = OpenAI.Responses.ResponseInputItem

export const responsesClient: OfficialClient = {
  name: "openai for responses",
  path: "/v1/responses",

  connect: (gatewayUrl, apiKey): Connection => {
    const { responses } = new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0 })
    return {
      answer: async (ask) => answerOf(await responses.parse(requestOf(ask))),
      stream: async (ask, hear = () => {}) =>
        answerOf(await responses.stream(requestOf(ask)).on("response.output_text.delta", hear).finalResponse()),
      iterate: async (ask, hear) => {
        for await (const { type } of await responses.create({ ...requestOf(ask), stream: true })) {
          if (type === "response.output_text.delta") hear()
        }
      }
    }
  },

  upstream: (said, streamed) => {
    const { text = "", usage, breaksAt } = said
    if (breaksAt !== undefined) {
      return script({ steps: [...numbered(...opening(), textDelta(text)).map(wireStep), until(breaksAt), cut] })
    }
    const output = itemsOf(said)
    const whole = response({ usage: responsesUsage(...usage) }, { output })
    if (!streamed) return json(whole)
    const told = output.flatMap(eventsOf)
    const events = numbered(created(), ...told, { type: "response.completed", response: whole })
    return script({ steps: events.map(wireStep) })
  }
}

const requestOf = ({ model, question, picture, tool, after, thinks, shape }: Ask) => {
  const asked: Item = {
    role: "user",
    content: [
      { type: "input_text", text: question },
      ...(picture === undefined
        ? []
        : [{ type: "input_image" as const, image_url: `data:image/png;base64,${picture}`, detail: "auto" as const }])
    ]
  }
  const { call, turn } = after?.answer ?? {}
  const since: ReadonlyArray<Item> =
    after === undefined
      ? []
      : [...(turn as Array<Item>), { type: "function_call_output", call_id: call?.id ?? "", output: after.found }]
  return {
    model,
    input: [asked, ...since],
    ...(tool && { tools: [{ type: "function" as const, ...tool, strict: true }] }),
    ...(thinks && { reasoning: { effort: "low" as const, summary: "auto" as const } }),
    ...(shape && { text: { format: zodTextFormat(shape, "answer") } })
  }
}

const answerOf = (response: ParsedResponse<unknown>): Answer => {
  const { model, output, output_text, output_parsed, usage } = response
  const call = output.find((item) => item.type === "function_call")
  const [first] = output
  const cached = usage?.input_tokens_details.cached_tokens ?? 0
  return {
    model,
    text: output_text,
    call: call && { id: call.call_id, name: call.name, input: JSON.parse(call.arguments) },
    thought: first?.type === "reasoning" && first.summary.some(({ text }) => text !== ""),
    parsed: output_parsed,
    usage: {
      input: (usage?.input_tokens ?? 0) - cached,
      cacheWrite: 0,
      cacheRead: cached,
      output: usage?.output_tokens ?? 0
    },
    turn: output
  }
}

interface ToldItem {
  readonly type: string
  readonly id: string
}

const itemsOf = ({ thought, text, call }: Said): ReadonlyArray<ToldItem & Record<string, unknown>> => [
  ...(thought === undefined
    ? []
    : [{ id: "rs_up_1", type: "reasoning", summary: [{ type: "summary_text", text: thought }] }]),
  ...(text === undefined ? [] : [message(text)]),
  ...(call === undefined ? [] : [functionCall(call.name, JSON.stringify(call.input))])
]

/** Returns the stream events of one output item. Each part of the item is sent in several events, one part after another. */
const eventsOf = (item: Record<string, unknown> & ToldItem, output_index: number): ReadonlyArray<WireEvent> => {
  const at = { item_id: item.id, output_index }
  const parts = (kind: string, text: string, index: string, told: unknown): ReadonlyArray<WireEvent> =>
    (Array.isArray(told) ? told : []).flatMap((part: { readonly text: string }, i) => [
      { type: `response.${kind}.added`, ...at, [index]: i, part: { ...part, text: "" } },
      { type: `response.${text}.delta`, ...at, [index]: i, delta: part.text, logprobs: [] },
      { type: `response.${text}.done`, ...at, [index]: i, text: part.text, logprobs: [] },
      { type: `response.${kind}.done`, ...at, [index]: i, part }
    ])
  const call = { type: "response.function_call_arguments", ...at }
  return [
    { type: "response.output_item.added", output_index, item: emptied(item) },
    ...parts("reasoning_summary_part", "reasoning_summary_text", "summary_index", item.summary),
    ...parts("content_part", "output_text", "content_index", item.content),
    ...(item.arguments === undefined
      ? []
      : [
          { ...call, type: `${call.type}.delta`, delta: item.arguments },
          { ...call, type: `${call.type}.done`, arguments: item.arguments }
        ]),
    { type: "response.output_item.done", output_index, item }
  ]
}

const emptied = (item: Record<string, unknown>) => ({
  ...item,
  ...(item.summary === undefined ? {} : { summary: [] }),
  ...(item.content === undefined ? {} : { content: [], status: "in_progress" }),
  ...(item.arguments === undefined ? {} : { arguments: "", status: "in_progress" })
})
