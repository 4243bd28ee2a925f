/**
 * Reads the content and the reported usage from the stream events of a message or from a whole message.
 *
 * Content is text, thinking, summaries, and the names and inputs of tool calls (docs/reference/billing.md#c10).
 * Signatures, citations, encrypted thinking and the results of hosted tools are not content. The event `message_start`
 * reports the prompt usage, and a placeholder for the output. The event `message_delta` reports the running totals of
 * prompt and output.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** Returns the content of one stream event. */
export const contentOfEvent = (event: JsonObject): string => {
  if (event.type === "content_block_start") return contentOfBlock(asObject(event.content_block) ?? {})
  const delta = event.type === "content_block_delta" ? asObject(event.delta) : undefined
  if (delta === undefined) return ""
  return asText(delta.text) + asText(delta.thinking) + asText(delta.partial_json) + summaryIn(delta, "compaction_delta")
}

/**
 * Returns the content of a whole message. A stream of it has the same content, except for the form of the JSON in tool
 * inputs.
 */
export const contentOfMessage = (message: JsonObject): string =>
  asArray(message.content)
    .map((block) => contentOfBlock(asObject(block) ?? {}))
    .join("")

const contentOfBlock = (block: JsonObject): string =>
  asText(block.text) + asText(block.thinking) + asText(block.name) + inputOf(block) + summaryIn(block, "compaction")

/**
 * Returns the input of a tool call as JSON. In a stream, an empty input is a placeholder: the next deltas contain the
 * input.
 */
const inputOf = ({ input }: JsonObject): string =>
  input === undefined || input === null || Object.keys(input).length === 0 ? "" : JSON.stringify(input)

const summaryIn = (part: JsonObject, type: string): string => (part.type === type ? asText(part.content) : "")

/**
 * The reported token counts of a message, by wire name. A count is absent if the provider has not reported it. A
 * reported 0 is a count.
 */
export type TokenCounts = { readonly [Name in (typeof COUNT_NAMES)[number]]?: number }

const COUNT_NAMES = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] as const

export const noCounts: TokenCounts = {}

/** Returns the token counts after this event. Returns the object `known` itself if no count of the event is used. */
export const countsAfterEvent = (known: TokenCounts, event: JsonObject): TokenCounts => {
  if (event.type === "message_delta") return mergeCounts(known, event.usage)
  if (event.type !== "message_start") return known
  const { output_tokens: _placeholder, ...prompt } = asObject(asObject(event.message)?.usage) ?? {}
  return mergeCounts(known, prompt)
}

/** Merges a usage report. Each count is a running total: a later count is used, except a 0 after a count above 0. */
export const mergeCounts = (known: TokenCounts, member: unknown): TokenCounts => {
  const usage = asObject(member)
  if (usage === undefined) return known
  let counts = known
  for (const name of COUNT_NAMES) {
    const count = ReportedUsage.countOf(usage[name])
    const total = count === undefined ? undefined : count + compactionIn(usage, name)
    if (total !== undefined && (total > 0 || known[name] === undefined)) counts = { ...counts, [name]: total }
  }
  return counts
}

/**
 * Returns the tokens of compactions. According to Anthropic's documentation, the totals do not include these tokens.
 */
const compactionIn = ({ iterations }: JsonObject, name: string): number =>
  asArray(iterations)
    .map((item) => asObject(item))
    .reduce((sum, item) => sum + (item?.type === "compaction" ? (ReportedUsage.countOf(item[name]) ?? 0) : 0), 0)

/**
 * Returns the usage that these counts state. `input_tokens` excludes cached tokens. While the output is unreported,
 * zeros in all counts of the prompt mean that the prompt is unreported too: no prompt is empty, so the zeros are a
 * placeholder for later counts.
 */
export const reportedBy = (counts: TokenCounts): ReportedUsage.ReportedUsage => {
  const { input_tokens: input, cache_creation_input_tokens: written = 0, cache_read_input_tokens: read = 0 } = counts
  const output = counts.output_tokens
  return {
    prompt:
      input === undefined || (output === undefined && input + written + read === 0)
        ? undefined
        : {
            input: Tokens.fromCount(input),
            cacheWrite: Tokens.fromCount(written),
            cacheRead: Tokens.fromCount(read)
          },
    output: output === undefined ? undefined : Tokens.fromCount(output)
  }
}
