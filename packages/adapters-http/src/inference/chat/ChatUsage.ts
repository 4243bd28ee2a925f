/**
 * The usage a client is told: what the supplier reported last, brought to the three figures and the breakdowns that
 * OpenAI's clients know. The total is always prompt plus completion.
 */
import { usageOf } from "@tollgate/domain/inference/ChatDelivered"
import { asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"

const BREAKDOWNS = ["prompt_tokens_details", "completion_tokens_details"] as const

export interface ChatUsageMember {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: JsonObject
  readonly completion_tokens_details?: JsonObject
}

export class ChatUsage {
  #reported = ReportedUsage.unreported
  #breakdowns: { [Name in (typeof BREAKDOWNS)[number]]?: JsonObject } = {}

  /** Takes note of the usage in a chunk or an answer, if there is any. */
  see(frame: JsonObject): ReportedUsage.ReportedUsage | undefined {
    const usage = asObject(frame.usage) ?? asObject(asObject(frame.x_groq)?.usage)
    if (usage === undefined) return undefined
    const seen = usageOf(usage)
    if (seen.prompt === undefined && seen.output === undefined) return undefined
    this.#reported = ReportedUsage.merge(this.#reported, seen)
    for (const name of BREAKDOWNS) {
      const breakdown = asObject(usage[name])
      if (breakdown !== undefined) this.#breakdowns[name] = countsIn(breakdown)
    }
    return seen
  }

  /** Undefined unless both figures are known: none is made up. */
  get member(): ChatUsageMember | undefined {
    const { prompt, output } = this.#reported
    if (prompt === undefined || output === undefined) return undefined
    const promptTokens = Number(prompt.input + prompt.cacheWrite + prompt.cacheRead)
    const completionTokens = Number(output)
    return {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      ...this.#breakdowns
    }
  }
}

/** Breakdowns hold counts of tokens; what else a supplier puts there is not for clients. */
const countsIn = (breakdown: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(breakdown).filter(([name, count]) => name.endsWith("_tokens") && asCount(count) !== undefined)
  )
