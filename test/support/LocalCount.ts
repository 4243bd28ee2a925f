/**
 * What the gateway should count where no supplier reports usage, counted apart from its own code.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"

export const tokens = (text: string): bigint => BigInt(countTokens(text))

/** A prompt of one message from the user: its role and text, and what frames a message and an answer. */
export const promptTokens = (content: string): bigint => 3n + tokens(`user${content}`) + 3n
