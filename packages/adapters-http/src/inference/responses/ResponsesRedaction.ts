/**
 * Removes the members of response objects that identify the provider, or show the provider's internals or the price
 * that the gateway pays (docs/reference/inference.md#f15). The functions replace the upstream model name by the public
 * name. An item or part that needs no change is returned as the same object.
 */
import { withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import { withoutProviderMembers } from "../../wire/Redaction.ts"
import type { ResponseContext } from "../relay/RelayProtocol.ts"

/**
 * The members of a response object that contain billing data of the gateway's account with the provider, or results of
 * the provider's content filters.
 */
const PROVIDER_RESPONSE_MEMBERS: ReadonlySet<string> = new Set(["billing", "content_filters"])

export const redactedResponse = (given: JsonObject, context: ResponseContext): JsonObject => {
  const response: Record<string, unknown> = { ...withoutProviderMembers(given) }
  for (const name of PROVIDER_RESPONSE_MEMBERS) delete response[name]
  response.id = idOf(given.id, context)
  response.object = "response"
  response.created_at ??= context.createdAtSeconds
  response.model = context.publicName
  if (Array.isArray(given.output)) response.output = given.output.map((item) => redactedItem(item, context))
  if (given.usage !== undefined) response.usage = usageCounts(given.usage)
  return response
}

/**
 * Returns the response id for the client. An id that begins with `resp_` is kept, because clients send this id back to
 * continue a conversation. Any other id could identify the provider, so it is replaced.
 */
const idOf = (given: unknown, context: ResponseContext): string =>
  typeof given === "string" && given.startsWith("resp_") ? given : responseIdOf(context)

export const responseIdOf = ({ requestId }: ResponseContext): string => `resp_${withoutHyphens(requestId)}`

/** Redacts an item of the response's `output`. */
export const redactedItem = (given: unknown, context: ResponseContext): unknown => {
  const item = redactedPart(given, context)
  const content = asObject(item)?.content
  if (!Array.isArray(content)) return item
  const redacted = content.map((part) => redactedPart(part, context))
  return redacted.every((part, i) => part === content[i]) ? item : { ...asObject(item), content: redacted }
}

/** Redacts a part of an item's `content`. */
export const redactedPart = (given: unknown, { publicName }: ResponseContext): unknown => {
  const part = asObject(given)
  if (part === undefined) return given
  const redacted = withoutProviderMembers(part)
  return typeof redacted.model === "string" ? { ...redacted, model: publicName } : redacted
}

/** Returns only the token counts and their breakdowns. Recomputes the total if input and output were both reported. */
const usageCounts = (given: unknown): unknown => {
  const usage = asObject(given)
  if (usage === undefined) return null
  const { prompt, output } = usageOf(usage)
  const { input_tokens, output_tokens, total_tokens, ...breakdowns } = countsIn(usage)
  if (prompt === undefined || output === undefined) return { input_tokens, output_tokens, total_tokens, ...breakdowns }
  const inputTokens = Number(prompt.input + prompt.cacheWrite + prompt.cacheRead)
  const outputTokens = Number(output)
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...breakdowns
  }
}

const countsIn = (usage: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]) => {
      if (name.endsWith("_tokens")) return asCount(value) === undefined ? [] : [[name, value]]
      const breakdown = name.endsWith("_tokens_details") ? asObject(value) : undefined
      return breakdown === undefined ? [] : [[name, countsIn(breakdown)]]
    })
  )
