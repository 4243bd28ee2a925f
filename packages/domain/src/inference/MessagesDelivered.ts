/**
 * What a message delivers: the content of each stream event or of the whole, and the usage reported along the way.
 *
 * Content is what a reader gets: text, thinking, summaries, and the names and inputs of tool calls (gap C10).
 * Signatures, citations, encrypted thinking and the results of hosted tools are not. `message_start` tells the prompt
 * and a made-up output; `message_delta` the running totals of both.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** The content of one stream event. */
export const contentOfEvent = (event: JsonObject): string => {
  if (event.type === "content_block_start") return contentOfBlock(asObject(event.content_block) ?? {})
  const delta = event.type === "content_block_delta" ? asObject(event.delta) : undefined
  if (delta === undefined) return ""
  return asText(delta.text) + asText(delta.thinking) + asText(delta.partial_json) + summaryIn(delta, "compaction_delta")
}

/** The content of a whole message: what its stream would have told. */
export const contentOfMessage = (message: JsonObject): string =>
  asArray(message.content)
    .map((block) => contentOfBlock(asObject(block) ?? {}))
    .join("")

const contentOfBlock = (block: JsonObject): string =>
  asText(block.text) + asText(block.thinking) + asText(block.name) + inputOf(block) + summaryIn(block, "compaction")

/** An empty input stands where the pieces of one are to follow. */
const inputOf = ({ input }: JsonObject): string =>
  input === undefined || input === null || Object.keys(input).length === 0 ? "" : JSON.stringify(input)

const summaryIn = (part: JsonObject, type: string): string => (part.type === type ? asText(part.content) : "")

/** The figures of a message as far as they were told, by the names they have on the wire; absent is not 0. */
export type Figures = { readonly [Name in (typeof FIGURES)[number]]?: number }

const FIGURES = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] as const

export const noFigures: Figures = {}

/** What is known after this event; the same object when it told nothing new. */
export const foldFigures = (known: Figures, event: JsonObject): Figures => {
  if (event.type === "message_delta") return withFigures(known, event.usage)
  if (event.type !== "message_start") return known
  const { output_tokens: _madeUp, ...prompt } = asObject(asObject(event.message)?.usage) ?? {}
  return withFigures(known, prompt)
}

/** Figures are totals, told in parts and repeatedly: each is as it was told last, but never falls back to 0. */
export const withFigures = (known: Figures, member: unknown): Figures => {
  const usage = asObject(member)
  if (usage === undefined) return known
  let figures = known
  for (const name of FIGURES) {
    const told = ReportedUsage.figureOf(usage[name])
    const total = told === undefined ? undefined : told + compactionIn(usage, name)
    if (total !== undefined && (total > 0 || known[name] === undefined)) figures = { ...figures, [name]: total }
  }
  return figures
}

/** Compacting a conversation is an answer of its own, whose tokens are in no total (Anthropic's documentation). */
const compactionIn = ({ iterations }: JsonObject, name: string): number =>
  asArray(iterations)
    .map((item) => asObject(item))
    .reduce((sum, item) => sum + (item?.type === "compaction" ? (ReportedUsage.figureOf(item[name]) ?? 0) : 0), 0)

/**
 * The usage these figures report. Cached tokens stand beside the input, not inside it. No prompt is empty, so zeros
 * alone are a placeholder for figures to come, until a total of the output comes with them.
 */
export const reportedBy = (figures: Figures): ReportedUsage.ReportedUsage => {
  const { input_tokens: input, cache_creation_input_tokens: written = 0, cache_read_input_tokens: read = 0 } = figures
  const output = figures.output_tokens
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
