/**
 * Estimates the usage of a request from the size of its body, before the request is sent to a provider.
 *
 * The input floor decides whether the request is refused, so it must not be too high. It assumes eight bytes per
 * token, as in long runs of one character. The input ceiling and the output decide the hold, so they must not be too
 * low. The input limit assumes one byte per token, and is set aside if the balances are large. A stream sets aside
 * only its first slice of output, because its hold grows while the stream is delivered. A whole response sets aside
 * its maximum output, or a default if no maximum is known (docs/reference/billing.md#i2).
 *
 * The number of tokens of unsized content, such as a file or a stored response, cannot be estimated from the body. A
 * large fixed number is set aside for it (docs/reference/billing.md#i11).
 */
import {
  covers,
  coversEstimate,
  type Estimate,
  expectedUsage,
  type Hold,
  largestUsage,
  type RequestDemand
} from "../ledger/Hold.ts"
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
/** The number of bytes per token that ordinary text has at least. A text of rare characters can have one. */
const ORDINARY_BYTES_PER_TOKEN = 3
/** The output per choice that a whole response sets aside if neither the request nor the catalog limits the output. */
const DEFAULT_MAX_OUTPUT = 16_384
/** The prompt tokens that a request sets aside for all its unsized content: the context of a large model. */
export const UNSIZED_CONTENT_TOKENS = Tokens.Tokens(200_000n)

/**
 * Returns a number of prompt tokens that no local count exceeds, except if a tool definition has many characters that
 * JSON escapes. A local count has a fixed number of tokens for each attachment, and the input limit contains at least
 * this number. It has no other tokens for unsized content. Text and JSON have at most one token for each UTF-8 byte.
 * The text of a message, with its role, has more bytes than the framing of the message has tokens. The text and the
 * framing together therefore have at most two tokens for each byte of the text.
 */
export const promptLimit = ({ inputCeiling, inputLimit = inputCeiling }: Estimate): Tokens.Tokens =>
  Tokens.Tokens(inputLimit * 2n + BigInt(extraTokensOf(1, 0)))

/**
 * Returns whether a request may begin without a count of its prompt: the hold covers the largest usage or, for a
 * stream, one output token in addition to {@link promptLimit}.
 */
export const isPromptCovered = (hold: Hold, demand: RequestDemand): boolean => {
  const { estimate, price, streamed } = demand
  return (
    covers(hold, largestUsage(estimate, price), price) ||
    (streamed && covers(hold, usageToBegin(hold, promptLimit(estimate), demand), price))
  )
}

/**
 * Returns the usage that the hold of a stream must cover before its first output token: this token and a prompt of this
 * size. The class of the prompt and its unsized content are those that `StreamAllowance` assumes until the provider
 * reports the prompt.
 */
export const usageToBegin = (
  hold: Hold,
  prompt: Tokens.Tokens,
  { estimate, price }: Pick<RequestDemand, "estimate" | "price">
): TokenUsage.TokenUsage =>
  coversEstimate(hold, estimate, price)
    ? expectedUsage({ ...estimate, inputCeiling: prompt, output: ONE }, price)
    : TokenUsage.plain(prompt, ONE)

export interface PromptSize extends Pick<RequestSize, "textBytes" | "structureBytes" | "countedTokens"> {
  /** The number of tokens that are set aside for images, sounds and files. */
  readonly attachmentTokens: number
}

type PromptEstimate = Required<Pick<Estimate, "inputFloor" | "inputCeiling" | "inputLimit">>

export const estimatePrompt = (size: PromptSize): PromptEstimate => {
  const { textBytes, structureBytes = 0, countedTokens = 0, attachmentTokens } = size
  const ofText = Math.ceil(textBytes / ORDINARY_BYTES_PER_TOKEN) + Math.ceil(structureBytes / ORDINARY_BYTES_PER_TOKEN)
  return {
    inputFloor: Tokens.fromCount(Math.floor(textBytes / MAX_BYTES_PER_TOKEN) + countedTokens),
    inputCeiling: Tokens.fromCount(ofText + attachmentTokens + countedTokens),
    inputLimit: Tokens.fromCount(textBytes + structureBytes + attachmentTokens + countedTokens)
  }
}

/** The facts, besides the size of a request, that decide how much output is set aside. */
export interface OutputLimits {
  readonly streamed: boolean
  /** The maximum number of output tokens of the model; undefined if the catalog does not state this number. */
  readonly modelMaxOutputTokens: number | undefined
}

const NO_LIMITS: OutputLimits = { streamed: false, modelMaxOutputTokens: undefined }

export const estimate = (size: RequestSize, { streamed, modelMaxOutputTokens }: OutputLimits = NO_LIMITS): Estimate => {
  const attachmentTokens = size.attachments * TOKENS_PER_ATTACHMENT.reserved
  const prompt = estimatePrompt({ ...size, attachmentTokens })
  // With a floor of 0, a request would be admitted even if the customer has no balance.
  if (size.promptOnly) {
    const atLeastOne = (tokens: Tokens.Tokens) => (tokens < ONE ? ONE : tokens)
    return {
      inputFloor: atLeastOne(prompt.inputFloor),
      inputCeiling: atLeastOne(prompt.inputCeiling),
      inputLimit: atLeastOne(prompt.inputLimit),
      output: Tokens.zero
    }
  }
  const ofModel = modelMaxOutputTokens ?? size.maxOutputTokens ?? DEFAULT_MAX_OUTPUT
  const limit = Math.min(size.maxOutputTokens ?? ofModel, ofModel)
  const largest = Tokens.fromCount(Math.max(1, limit) * Math.max(1, size.choices))
  const output = streamed ? Tokens.min(largest, FIRST_SLICE) : largest
  return size.hasUnsizedContent ? { ...prompt, output, unsizedInput: UNSIZED_CONTENT_TOKENS } : { ...prompt, output }
}
