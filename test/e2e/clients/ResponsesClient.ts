/**
 * Implements the interface that all official clients share, for the protocol `responses`. Uses OpenAI's official
 * client.
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
import type { ClientRequest, ClientResponse, Connection, OfficialClient, ScriptedContent } from "./OfficialClient.ts"

type Item = OpenAI.Responses.ResponseInputItem

export const responsesClient: OfficialClient = {
  name: "openai for responses",
  path: "/v1/responses",

  connect: (gatewayUrl, apiKey): Connection => {
    const { responses } = new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0 })
    return {
      requestWhole: async (request) => responseOf(await responses.parse(requestOf(request))),
      requestStream: async (request, onText = () => {}) =>
        responseOf(await responses.stream(requestOf(request)).on("response.output_text.delta", onText).finalResponse()),
      readEvents: async (request, onText) => {
        for await (const { type } of await responses.create({ ...requestOf(request), stream: true })) {
          if (type === "response.output_text.delta") onText()
        }
      }
    }
  },

  upstream: (scripted, streamed) => {
    const { text = "", usage, cutBy } = scripted
    if (cutBy !== undefined) {
      return script({ steps: [...numbered(...opening(), textDelta(text)).map(wireStep), until(cutBy), cut] })
    }
    const output = itemsOf(scripted)
    const whole = response({ usage: responsesUsage(...usage) }, { output })
    if (!streamed) return json(whole)
    const itemEvents = output.flatMap(eventsOf)
    const events = numbered(created(), ...itemEvents, { type: "response.completed", response: whole })
    return script({ steps: events.map(wireStep) })
  }
}

const requestOf = ({ model, question, picture, tool, after, withReasoning, schema }: ClientRequest) => {
  const userMessage: Item = {
    role: "user",
    content: [
      { type: "input_text", text: question },
      ...(picture === undefined
        ? []
        : [{ type: "input_image" as const, image_url: `data:image/png;base64,${picture}`, detail: "auto" as const }])
    ]
  }
  const { call, turn } = after?.response ?? {}
  const followUp: ReadonlyArray<Item> =
    after === undefined
      ? []
      : [...(turn as Array<Item>), { type: "function_call_output", call_id: call?.id ?? "", output: after.toolResult }]
  return {
    model,
    input: [userMessage, ...followUp],
    ...(tool && { tools: [{ type: "function" as const, ...tool, strict: true }] }),
    ...(withReasoning && { reasoning: { effort: "low" as const, summary: "auto" as const } }),
    ...(schema && { text: { format: zodTextFormat(schema, "answer") } })
  }
}

const responseOf = (response: ParsedResponse<unknown>): ClientResponse => {
  const { model, output, output_text, output_parsed, usage } = response
  const call = output.find((item) => item.type === "function_call")
  const [first] = output
  const cached = usage?.input_tokens_details.cached_tokens ?? 0
  return {
    model,
    text: output_text,
    call: call && { id: call.call_id, name: call.name, input: JSON.parse(call.arguments) },
    hasReasoning: first?.type === "reasoning" && first.summary.some(({ text }) => text !== ""),
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

interface OutputItem {
  readonly type: string
  readonly id: string
}

const itemsOf = ({ reasoning, text, call }: ScriptedContent): ReadonlyArray<OutputItem & Record<string, unknown>> => [
  ...(reasoning === undefined
    ? []
    : [{ id: "rs_up_1", type: "reasoning", summary: [{ type: "summary_text", text: reasoning }] }]),
  ...(text === undefined ? [] : [message(text)]),
  ...(call === undefined ? [] : [functionCall(call.name, JSON.stringify(call.input))])
]

/**
 * Returns the stream events of one output item. Each part of the item is sent in several events, one part after
 * another.
 */
const eventsOf = (item: Record<string, unknown> & OutputItem, output_index: number): ReadonlyArray<WireEvent> => {
  const at = { item_id: item.id, output_index }
  const parts = (kind: string, text: string, index: string, given: unknown): ReadonlyArray<WireEvent> =>
    (Array.isArray(given) ? given : []).flatMap((part: { readonly text: string }, i) => [
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
