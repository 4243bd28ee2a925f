/**
 * Defines the text of a prompt for a local token count, and the number of tokens that are not text. For example, the
 * local count is charged if the provider did not report the prompt tokens.
 */
export interface PromptText {
  readonly text: string
  /** Texts that the model reads independently. No token spans two texts, so each text is counted separately. */
  readonly separateTexts?: ReadonlyArray<string>
  /**
   * The sizes in bytes of the sample and of the whole text, if `text` is only a sample of a text too large to count.
   */
  readonly sampleOf?: { readonly sampleBytes: number; readonly textBytes: number }
  /** The number of tokens that are not in the texts: message framing, attachments and token ids. */
  readonly extraTokens: number
}

/** The framing: OpenAI's chat format adds 3 tokens to each message, and 3 tokens before the output. */
const TOKENS_PER_MESSAGE = 3
const TOKENS_BEFORE_OUTPUT = 3

/**
 * The number of tokens per image, sound or file. The numbers are estimates, because each provider counts attachments in
 * a different way.
 *
 * `counted` is charged if the provider did not report the prompt tokens. It is OpenAI's count for a 1024 x 1024 image
 * in high detail. `reserved` is included in the hold. It is Anthropic's count for an image of 1.15 megapixels, the
 * largest count of the common providers. A hold that is too high does no harm, because the settlement releases the
 * unused part. A charge must not be too high, because a charge is final.
 */
export const TOKENS_PER_ATTACHMENT = { counted: 765, reserved: 1_600 } as const

export const extraTokensOf = (messages: number, attachments: number): number =>
  TOKENS_BEFORE_OUTPUT + messages * TOKENS_PER_MESSAGE + attachments * TOKENS_PER_ATTACHMENT.counted

/** Returns tool definitions and response formats as JSON texts. Skips absent members. */
export const definitionTexts = (members: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  members.filter((member) => member !== undefined && member !== null).map((member) => JSON.stringify(member))
