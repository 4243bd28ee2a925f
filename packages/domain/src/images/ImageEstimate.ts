/**
 * Estimates the usage of an image request before it is sent to a provider.
 *
 * Providers compute the tokens of an image from its area and quality. An estimate that is too high costs the customer
 * nothing, because the settlement releases the unused part of the hold. A request is refused if the balances do not
 * cover its minimum prompt tokens and one output token. The budget of a limited key must cover the whole estimate
 * (`KeyHold.ts`).
 */

import { estimatePrompt } from "../inference/Estimate.ts"
import type { Estimate } from "../ledger/Hold.ts"
import * as Tokens from "../money/Tokens.ts"
import type { ImageRequest } from "./ImageRequest.ts"

export type ImageEstimateFacts = Pick<ImageRequest, "prompt" | "size" | "quality"> & {
  readonly source: object | undefined
}

/** The area in pixels of the largest image that a provider makes for the size "auto". */
const AUTO_PIXELS = 1024 * 1536

/** Slightly below the ratios of OpenAI's image models, so that no estimate is below OpenAI's count. */
const PIXELS_PER_TOKEN = { low: 3_800, medium: 980, high: 250, auto: 250 } as const

/**
 * The maximum tokens of a source image. There is a maximum because providers scale the image down before they process
 * it.
 */
const TOKENS_PER_SOURCE = 6_500

export const estimateImage = ({ prompt, size, quality, source }: ImageEstimateFacts): Estimate => {
  const pixels = size === "auto" ? AUTO_PIXELS : size.widthPx * size.heightPx
  return {
    ...estimatePrompt({
      textBytes: utf8Length(prompt),
      attachmentTokens: source === undefined ? 0 : TOKENS_PER_SOURCE
    }),
    output: Tokens.fromCount(Math.max(1, Math.ceil(pixels / PIXELS_PER_TOKEN[quality])))
  }
}

const utf8Length = (text: string): number => {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair has four UTF-8 bytes: two for each half.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3
  }
  return bytes
}
