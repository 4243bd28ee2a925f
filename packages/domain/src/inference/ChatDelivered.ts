/**
 * Reads the content and the reported usage from the chunks of a chat completion or from a whole completion.
 *
 * Content is text, refusals, reasoning, transcripts of sound, and the names, arguments and inputs of tool calls
 * (docs/reference/billing.md#c10). Roles, ids, finish reasons and error frames are not content.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject, asText, type JsonObject } from "./Json.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** Returns the content of all choices of one chunk (`delta`) or one completion (`message`). */
export const contentOf = (frame: JsonObject): string => {
  let text = ""
  for (const item of asArray(frame.choices)) {
    const choice = asObject(item)
    const delta = asObject(choice?.delta) ?? asObject(choice?.message)
    if (delta !== undefined) text += deltaContent(delta)
  }
  return text
}

/** Returns the content of one delta or message. */
export const deltaContent = (delta: JsonObject): string => {
  const reasoning = asText(delta.reasoning_content) || asText(delta.reasoning) || detailsOf(delta.reasoning_details)
  const text = textOf(delta.content) + asText(delta.refusal) + reasoning
  return text + callsContent(delta) + asText(asObject(delta.audio)?.transcript)
}

/** Returns the content of the tool calls in one delta or message. */
export const callsContent = (delta: JsonObject): string => {
  let text = ""
  for (const item of asArray(delta.tool_calls)) {
    const call = asObject(item)
    text += callContent(asObject(call?.function)) + callContent(asObject(call?.custom))
  }
  return text + callContent(asObject(delta.function_call))
}

/**
 * Returns the reasoning in a list of parts. If a delta or a message also has a plain reasoning text, the parts repeat
 * it, so a caller must not count both.
 */
export const detailsOf = (details: unknown): string => {
  let text = ""
  for (const item of asArray(details)) {
    const detail = asObject(item)
    text += asText(detail?.text) + asText(detail?.summary)
  }
  return text
}

/**
 * Returns the text of `content`. Some providers send a list of parts, and put the reasoning into one part, as a text or
 * as a list of parts.
 */
export const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  let text = ""
  for (const item of asArray(content)) {
    const part = asObject(item)
    text += asText(part?.text) + asText(part?.refusal) + asText(part?.thinking)
    for (const thought of asArray(part?.thinking)) text += asText(asObject(thought)?.text)
  }
  return text
}

/** Returns the content of a tool call. A function call has arguments, a custom tool call has input. */
const callContent = (call: JsonObject | undefined): string =>
  call === undefined ? "" : asText(call.name) + asText(call.arguments) + asText(call.input)

/**
 * Reads the `usage` member of a chunk or completion. Some providers leave reasoning tokens out of `completion_tokens`.
 * If the total is therefore larger than prompt plus completion, `outputWithin` adds reasoning tokens, up to the
 * difference, to the output.
 */
export const usageOf = (member: unknown): ReportedUsage.ReportedUsage => {
  const usage = asObject(member)
  if (usage === undefined) return ReportedUsage.unreported
  const prompt = ReportedUsage.countOf(usage.prompt_tokens)
  const completion = ReportedUsage.countOf(usage.completion_tokens)
  const total = ReportedUsage.countOf(usage.total_tokens)
  const details = asObject(usage.prompt_tokens_details)
  const read =
    ReportedUsage.countOf(details?.cached_tokens) ??
    ReportedUsage.countOf(usage.prompt_cache_hit_tokens) ??
    ReportedUsage.countOf(usage.cached_tokens) ??
    0
  const written = ReportedUsage.countOf(details?.cache_write_tokens) ?? 0
  const reasoning = ReportedUsage.countOf(asObject(usage.completion_tokens_details)?.reasoning_tokens)
  return {
    prompt:
      prompt === undefined
        ? undefined
        : ReportedUsage.promptIncludingCached(
            Tokens.fromCount(prompt),
            Tokens.fromCount(read),
            Tokens.fromCount(written)
          ),
    output: ReportedUsage.outputWithin(prompt, completion, total, reasoning)
  }
}
