/**
 * Estimates the usage of a request from the size of its body, before the request is sent to a provider.
 *
 * The input floor decides whether the request is refused, so it must not be too high. It assumes eight bytes per token,
 * as in long runs of one character. The input ceiling and the output decide the hold, so they must not be too low. A
 * stream sets aside only its first slice of output, because its hold grows while the stream is delivered. A whole
 * response sets aside its maximum output, or a default if no maximum is known (docs/reference/billing.md#i2).
 *
 * The number of tokens of unsized content, such as a file or a stored response, cannot be estimated from the body. A
 * large fixed number is set aside for it (docs/reference/billing.md#i11).
 */
import { covers, coversEstimate, type Estimate, type Hold } from "../ledger/Hold.ts"
import type { Price } from "../ledger/Price.ts"
import { FIRST_SLICE } from "../ledger/Slice.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { extraTokensOf, TOKENS_PER_ATTACHMENT } from "./PromptText.ts"

export interface RequestSize {
  /** The number of UTF-8 bytes of text in the body. Embedded images and sounds are not counted. */
  readonly textBytes: number
  /**
   * The number of bytes of the body outside its texts, for example of the member names in a tool definition. A model
   * reads some of these bytes.
   */
  readonly structureBytes?: number
  /** The number of prompt tokens that the body contains as token ids. This count is exact. */
  readonly countedTokens?: number
  /** The number of images, sounds and files in the body, embedded or linked. */
  readonly attachments: number
  /** True if the prompt has content whose number of tokens cannot be estimated from the body. */
  readonly hasUnsizedContent?: boolean
  /** The limit of output tokens in the request; undefined if the request has none. */
  readonly maxOutputTokens: number | undefined
  /** The number of requested choices (`n`). */
  readonly choices: number
  /** True if the model generates no tokens, so that the hold covers only the prompt. */
  readonly promptOnly?: true
}

const ONE = Tokens.Tokens(1n)
const MAX_BYTES_PER_TOKEN = 8
const MIN_BYTES_PER_TOKEN = 3
/** The output per choice that a whole response sets aside if neither the request nor the catalog limits the output. */
const DEFAULT_MAX_OUTPUT = 16_384
/** The prompt tokens that a request sets aside for all its unsized content: the context of a large model. */
export const UNSIZED_CONTENT_TOKENS = Tokens.Tokens(200_000n)

/**
 * Returns a number of prompt tokens that no local count exceeds, except if a tool definition has many characters that
 * JSON escapes. A local count contains no unsized content. Text and JSON have at most one token for each UTF-8 byte.
 * The text of a message, with its role, has more bytes than the framing of the message has tokens. The text and the
 * framing together therefore have at most two tokens for each byte of the text.
 */
export const promptLimit = ({ inputCeiling }: Estimate): Tokens.Tokens =>
  Tokens.Tokens(inputCeiling * 2n * BigInt(MIN_BYTES_PER_TOKEN) + BigInt(extraTokensOf(1, 0)))

/**
 * Returns whether a stream may begin without a count of its prompt: the hold covers the whole estimate, or one output
 * token and {@link promptLimit}.
 */
export const isPromptCovered = (hold: Hold, estimate: Estimate, price: Price): boolean =>
  coversEstimate(hold, estimate, price) || covers(hold, TokenUsage.plain(promptLimit(estimate), ONE), price)

/** Estimates the prompt tokens. `otherTokens` is the number of tokens that are not text, for example of images. */
export const estimatePrompt = (
  textBytes: number,
  otherTokens: number
): Pick<Estimate, "inputFloor" | "inputCeiling"> => ({
  inputFloor: Tokens.fromCount(Math.floor(textBytes / MAX_BYTES_PER_TOKEN)),
  inputCeiling: Tokens.fromCount(Math.ceil(textBytes / MIN_BYTES_PER_TOKEN) + otherTokens)
})

/** The facts, besides the size of a request, that decide how much output is set aside. */
export interface OutputLimits {
  readonly streamed: boolean
  /** The maximum number of output tokens of the model; undefined if the catalog does not state this number. */
  readonly modelMaxOutputTokens: number | undefined
}

const NO_LIMITS: OutputLimits = { streamed: false, modelMaxOutputTokens: undefined }

export const estimate = (size: RequestSize, { streamed, modelMaxOutputTokens }: OutputLimits = NO_LIMITS): Estimate => {
  const counted = Tokens.fromCount(size.countedTokens ?? 0)
  const structure = Math.ceil((size.structureBytes ?? 0) / MIN_BYTES_PER_TOKEN)
  const prompt = estimatePrompt(size.textBytes, structure + size.attachments * TOKENS_PER_ATTACHMENT.reserved)
  const inputFloor = Tokens.add(prompt.inputFloor, counted)
  const inputCeiling = Tokens.add(prompt.inputCeiling, counted)
  // With a floor of 0, a request would be admitted even if the customer has no balance.
  if (size.promptOnly) {
    const atLeastOne = (tokens: Tokens.Tokens) => (tokens < ONE ? ONE : tokens)
    return { inputFloor: atLeastOne(inputFloor), inputCeiling: atLeastOne(inputCeiling), output: Tokens.zero }
  }
  const ofModel = modelMaxOutputTokens ?? size.maxOutputTokens ?? DEFAULT_MAX_OUTPUT
  const limit = Math.min(size.maxOutputTokens ?? ofModel, ofModel)
  const largest = Tokens.fromCount(Math.max(1, limit) * Math.max(1, size.choices))
  const output = streamed ? Tokens.min(largest, FIRST_SLICE) : largest
  return size.hasUnsizedContent
    ? { inputFloor, inputCeiling, output, unsizedInput: UNSIZED_CONTENT_TOKENS }
    : { inputFloor, inputCeiling, output }
}
