/**
 * The text of a prompt that a tokenizer counts, and the tokens that are not text. Used where no provider reported the size
 * of a prompt.
 */
export interface PromptText {
  readonly text: string
  /** Texts that the model reads independently. No token spans two of them, so each is counted alone. */
  readonly separateTexts?: ReadonlyArray<string>
  /** Tokens that are not in the text: the framing of each message, and the attachments. */
  readonly extraTokens: number
}

const TOKENS_PER_MESSAGE = 3
const TOKENS_BEFORE_OUTPUT = 3

/**
 * The tokens of one image, sound or file. No count is exact: providers scale attachments in different ways.
 *
 * `counted` is charged when no provider reported the prompt: a 1024 x 1024 image in high detail at OpenAI. `reserved` is
 * held before the request: the largest common count, an image of 1.15 megapixels at Anthropic. The hold errs high because
 * settlement releases the rest; the charge does not, because it is final.
 */
export const TOKENS_PER_ATTACHMENT = { counted: 765, reserved: 1_600 } as const

export const extraTokensOf = (messages: number, attachments: number): number =>
  TOKENS_BEFORE_OUTPUT + messages * TOKENS_PER_MESSAGE + attachments * TOKENS_PER_ATTACHMENT.counted

/** Tool definitions and response formats, counted as JSON; absent members are left out. */
export const definitionTexts = (members: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  members.filter((member) => member !== undefined && member !== null).map((member) => JSON.stringify(member))
