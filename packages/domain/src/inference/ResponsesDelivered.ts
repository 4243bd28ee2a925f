/**
 * Reads the delivered content and the reported usage from the stream events of a response or from a whole response.
 *
 * Content is text, refusals, reasoning, transcripts of sound, and the names, arguments, inputs, code and patches of
 * tool calls (docs/reference/billing.md#c10). A stream sends content in deltas. The `*.done` events are not counted,
 * because they repeat the content of the deltas. Encrypted reasoning and the queries of hosted search tools are not
 * counted.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** The type of the event that contains base64 sound. Separate events contain the transcript of the sound. */
const SOUND = "response.audio.delta"

/** The types of the events that end a stream. Earlier events may have a `usage` too, but it contains only zeros. */
const ENDINGS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"])

/** Returns the content of one stream event. */
export const contentOfEvent = (event: JsonObject): string => {
  const type = asText(event.type)
  if (type.endsWith(".delta")) return type === SOUND ? "" : asText(event.delta)
  return type === "response.output_item.added" ? asText(asObject(event.item)?.name) : ""
}

/** Returns the content of a whole response. A stream of the same response has the same content. */
export const contentOfResponse = (response: JsonObject): string =>
  asArray(response.output)
    .map((item) => contentOfItem(asObject(item) ?? {}))
    .join("")

const contentOfItem = ({ name, summary, content, arguments: args, input, code, operation }: JsonObject): string =>
  asText(name) +
  textOf(summary) +
  textOf(content) +
  asText(args) +
  asText(input) +
  asText(code) +
  asText(asObject(operation)?.diff)

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
