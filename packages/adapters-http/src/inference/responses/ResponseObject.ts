/**
 * The response object as a client may see it: the supplier's, whole, with the public name of the model and without
 * what tells who the supplier is, how it works inside, or what it costs us (docs/reference/inference.md#f15).
 */

import { withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import { withoutSupplierMembers } from "../../wire/ProviderMembers.ts"
import type { ResponseContext } from "../relay/RelayProtocol.ts"

/** Who pays the supplier, and what its own filters made of the request. */
const ITS_OWN: ReadonlySet<string> = new Set(["billing", "content_filters"])

export const cleanResponse = (given: JsonObject, context: ResponseContext): JsonObject => {
  const response: Record<string, unknown> = { ...withoutSupplierMembers(given) }
  for (const name of ITS_OWN) delete response[name]
  response.id = idOf(given.id, context)
  response.object = "response"
  response.created_at ??= context.createdAtSeconds
  response.model = context.publicName
  if (Array.isArray(given.output)) response.output = given.output.map((item) => cleanItem(item, context))
  if (given.usage !== undefined) response.usage = cleanUsage(given.usage)
  return response
}

/** Clients send ids back to go on with a response, so they are kept, unless they are in a form of the supplier's. */
const idOf = (given: unknown, context: ResponseContext): string =>
  typeof given === "string" && given.startsWith("resp_") ? given : ownId(context)

export const ownId = ({ requestId }: ResponseContext): string => `resp_${withoutHyphens(requestId)}`

/** An item of the output; itself when there is nothing to clean. */
export const cleanItem = (given: unknown, context: ResponseContext): unknown => {
  const item = cleanPart(given, context)
  const content = asObject(item)?.content
  if (!Array.isArray(content)) return item
  const cleaned = content.map((part) => cleanPart(part, context))
  return cleaned.every((part, i) => part === content[i]) ? item : { ...asObject(item), content: cleaned }
}

/** A part of an item's content; itself when there is nothing to clean. */
export const cleanPart = (given: unknown, { publicName }: ResponseContext): unknown => {
  const part = asObject(given)
  if (part === undefined) return given
  const cleaned = withoutSupplierMembers(part)
  return typeof cleaned.model === "string" ? { ...cleaned, model: publicName } : cleaned
}

/** Counts of tokens and their breakdowns, and nothing else; the total adds up. */
const cleanUsage = (given: unknown): unknown => {
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
