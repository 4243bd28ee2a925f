/**
 * `ChatUsage` builds the `usage` member of a chat completion from the merged usage reports of the provider
 * (`ReportedUsage.merge`). Only token counts are passed on. The total is always the sum of the prompt tokens and the
 * completion tokens.
 */
import { usageOf } from "@tollgate/domain/inference/ChatDelivered"
import { asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"

const BREAKDOWNS = ["prompt_tokens_details", "completion_tokens_details"] as const

export interface ChatUsageMember {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: JsonObject | undefined
  readonly completion_tokens_details: JsonObject | undefined
}

export class ChatUsage {
  #reported = ReportedUsage.unreported
  #breakdowns: { [Name in (typeof BREAKDOWNS)[number]]?: JsonObject } = {}

  /** Records and returns the usage that a chunk or a whole completion reports; undefined if it reports no usage. */
  add(frame: JsonObject): ReportedUsage.ReportedUsage | undefined {
    const usage = asObject(frame.usage) ?? asObject(asObject(frame.x_groq)?.usage)
    if (usage === undefined) return undefined
    const reported = usageOf(usage)
    if (reported.prompt === undefined && reported.output === undefined) return undefined
    this.#reported = ReportedUsage.merge(this.#reported, reported)
    for (const name of BREAKDOWNS) {
      const breakdown = asObject(usage[name])
      if (breakdown !== undefined) this.#breakdowns[name] = countsIn(breakdown)
    }
    return reported
  }

  /** The `usage` member; undefined if the provider has not reported both the prompt and the completion tokens. */
  get member(): ChatUsageMember | undefined {
    const { prompt, output } = this.#reported
    if (prompt === undefined || output === undefined) return undefined
    const promptTokens = Number(prompt.input + prompt.cacheWrite + prompt.cacheRead)
    const completionTokens = Number(output)
    return {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: this.#breakdowns.prompt_tokens_details,
      completion_tokens_details: this.#breakdowns.completion_tokens_details
    }
  }
}

/** Returns only the token counts of a breakdown. Its other members could identify the provider. */
const countsIn = (breakdown: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(breakdown).filter(([name, count]) => name.endsWith("_tokens") && asCount(count) !== undefined)
  )
