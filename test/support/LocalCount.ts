/**
 * Computes the token counts that the gateway must charge when an upstream reports no usage. It uses no code of the
 * gateway.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"

export const tokens = (text: string): bigint => BigInt(countTokens(text))

/** A prompt has 3 tokens per message in addition to role and text, and 3 for the start of the response. */
export const promptTokens = (content: string): bigint => 3n + tokens(`user${content}`) + 3n
