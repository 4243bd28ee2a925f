/**
 * The expected local count when an upstream reports no usage, computed without the gateway's code.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"

export const tokens = (text: string): bigint => BigInt(countTokens(text))

/** The tokens of a prompt with one user message: role, text, and the framing of a message and a response. */
export const promptTokens = (content: string): bigint => 3n + tokens(`user${content}`) + 3n
