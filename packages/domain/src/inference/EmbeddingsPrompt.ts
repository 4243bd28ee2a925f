/**
 * Extracts the prompt of an embeddings request, and reads the usage reported in the response. Embeddings have no output
 * tokens: only the prompt is charged.
 */
import * as Tokens from "../money/Tokens.ts"
import { asArray, asObject } from "./Json.ts"
import type { PromptText } from "./PromptText.ts"
import * as ReportedUsage from "./ReportedUsage.ts"

/** Returns the prompt of a parsed body. Each text is a separate input. Each token id counts as one token. */
export const promptText = (body: unknown): PromptText => {
  const input = asObject(body)?.input
  const inputs = typeof input === "string" ? [input] : asArray(input)
  const tokens = inputs.reduce<number>((sum, item) => sum + tokensOf(item), 0)
  return { text: "", separateTexts: inputs.filter((item) => typeof item === "string"), extraTokens: tokens }
}

const tokensOf = (item: unknown): number => (typeof item === "number" ? 1 : asArray(item).length)

/** Reads the `usage` member of a response. Some providers report only the total, which equals the prompt tokens. */
export const usageOf = (member: unknown): ReportedUsage.ReportedUsage => {
  const usage = asObject(member)
  const prompt = ReportedUsage.countOf(usage?.prompt_tokens) ?? ReportedUsage.countOf(usage?.total_tokens)
  if (prompt === undefined) return ReportedUsage.unreported
  const input = Tokens.fromCount(prompt)
  return { prompt: { input, cacheWrite: Tokens.zero, cacheRead: Tokens.zero }, output: Tokens.zero }
}
