/**
 * Reads the content and the reported usage from the stream events of a response or from a whole response.
 *
 * Content is text, refusals, reasoning, transcripts of sound, and the names, arguments, inputs, actions, code and
 * patches of tool calls (docs/reference/billing.md#c10). A stream sends content in deltas. The `*.done` events are not
 * counted, because they repeat the content of the deltas; the calls in `CALLS_WITHOUT_DELTAS` are counted when they are
 * done. Encrypted reasoning and the queries of hosted search tools are not counted.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** The type of the event that contains base64 sound. Separate events contain the transcript of the sound. */
const SOUND = "response.audio.delta"

/** The types of the events that end a stream. Earlier events may have a `usage` too, but it contains only zeros. */
const ENDINGS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"])

/** The types of calls whose arguments or actions a stream sends only in `response.output_item.done`. */
const CALLS_WITHOUT_DELTAS: ReadonlySet<string> = new Set([
  "computer_call",
  "local_shell_call",
  "mcp_approval_request",
  "tool_search_call"
])

/** The types of calls whose `action` is content. The `action` of a hosted search is not. */
const CALLS_WITH_ACTION: ReadonlySet<string> = new Set(["computer_call", "local_shell_call", "shell_call"])

/** Returns the content of one stream event. */
export const contentOfEvent = (event: JsonObject): string => {
  const type = asText(event.type)
  if (type.endsWith(".delta")) return type === SOUND ? "" : asText(event.delta)
  if (type === "response.output_item.added") return asText(asObject(event.item)?.name)
  const done = type === "response.output_item.done" ? asObject(event.item) : undefined
  return done !== undefined && CALLS_WITHOUT_DELTAS.has(asText(done.type)) ? argumentsOf(done) + actionOf(done) : ""
}

/** Returns the content of a whole response. A stream of the same response has the same content. */
export const contentOfResponse = (response: JsonObject): string =>
  asArray(response.output)
    .map((item) => contentOfItem(asObject(item) ?? {}))
    .join("")

const contentOfItem = (item: JsonObject): string =>
  asText(item.name) +
  textOf(item.summary) +
  textOf(item.content) +
  argumentsOf(item) +
  asText(item.input) +
  asText(item.code) +
  asText(asObject(item.operation)?.diff) +
  actionOf(item)

/** Returns the arguments of a call. The arguments of a tool search are an object, and not its JSON text. */
const argumentsOf = ({ arguments: args }: JsonObject): string => {
  const object = asObject(args)
  return object === undefined ? asText(args) : JSON.stringify(object)
}

/** Returns the texts of a call's actions, such as the words of a shell command. */
const actionOf = ({ type, action, actions }: JsonObject): string =>
  CALLS_WITH_ACTION.has(asText(type)) ? [...textsIn(action), ...textsIn(actions)].join(" ") : ""

const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  const { type: _kind, ...members } = asObject(value) ?? {}
  return Object.values(members).flatMap(textsIn)
}

const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  let text = ""
  for (const item of asArray(content)) {
    const part = asObject(item)
    text += asText(part?.text) + asText(part?.refusal) + asText(part?.transcript)
  }
  return text
}

/** Returns the usage that an event reports. Ignores the usage in an event that does not end the stream. */
export const usageOfEvent = (event: JsonObject): ReportedUsage.ReportedUsage =>
  ENDINGS.has(asText(event.type)) ? usageOf(asObject(event.response)?.usage) : ReportedUsage.unreported

/**
 * Reads the `usage` member of a response. `input_tokens` includes the tokens read from a cache or written to a cache.
 * Some providers leave reasoning tokens out of `output_tokens`. If the total is therefore larger than input plus
 * output, `outputWithin` adds reasoning tokens, up to the difference, to the output.
 */
export const usageOf = (member: unknown): ReportedUsage.ReportedUsage => {
  const usage = asObject(member)
  if (usage === undefined) return ReportedUsage.unreported
  const input = ReportedUsage.countOf(usage.input_tokens)
  const output = ReportedUsage.countOf(usage.output_tokens)
  const total = ReportedUsage.countOf(usage.total_tokens)
  const details = asObject(usage.input_tokens_details)
  const reasoning = ReportedUsage.countOf(asObject(usage.output_tokens_details)?.reasoning_tokens)
  return {
    prompt:
      input === undefined
        ? undefined
        : ReportedUsage.promptIncludingCached(
            Tokens.fromCount(input),
            Tokens.fromCount(ReportedUsage.countOf(details?.cached_tokens) ?? 0),
            Tokens.fromCount(ReportedUsage.countOf(details?.cache_write_tokens) ?? 0)
          ),
    output: ReportedUsage.outputWithin(input, output, total, reasoning)
  }
}
