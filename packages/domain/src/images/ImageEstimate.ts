/**
 * What an image request will use, guessed before anything is known, so that enough is set aside for it.
 *
 * Suppliers count the tokens of an image by its area and its quality. The figures err high: what is not used is given
 * back when the request is settled. Whether it is refused depends on the prompt alone, which errs low.
 */
import type { Estimate } from "../ledger/Hold.ts"
import * as Tokens from "../money/Tokens.ts"
import type { ImageRequest } from "./ImageRequest.ts"

export type ImageEstimateFacts = Pick<ImageRequest, "prompt" | "size" | "quality"> & {
  readonly source: object | undefined
}

const BYTES_PER_TOKEN_AT_MOST = 8
const BYTES_PER_TOKEN_AT_LEAST = 3

/** A supplier that chooses makes at most a picture of 1024 by 1536. */
const AUTO_PIXELS = 1024 * 1536

const PIXELS_PER_TOKEN = { low: 3_800, medium: 980, high: 250, auto: 250 } as const

/** Source images are scaled down before they are looked at, so they count for no more than this. */
const TOKENS_PER_SOURCE = 6_500

export const estimateImage = ({ prompt, size, quality, source }: ImageEstimateFacts): Estimate => {
  const bytes = utf8Length(prompt)
  const pixels = size === "auto" ? AUTO_PIXELS : size.widthPx * size.heightPx
  return {
    inputFloor: Tokens.fromCount(Math.floor(bytes / BYTES_PER_TOKEN_AT_MOST)),
    inputCeiling: Tokens.fromCount(
      Math.ceil(bytes / BYTES_PER_TOKEN_AT_LEAST) + (source === undefined ? 0 : TOKENS_PER_SOURCE)
    ),
    output: Tokens.fromCount(Math.max(1, Math.ceil(pixels / PIXELS_PER_TOKEN[quality])))
  }
}

const utf8Length = (text: string): number => {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // Half of a surrogate pair is half of four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3
  }
  return bytes
}
