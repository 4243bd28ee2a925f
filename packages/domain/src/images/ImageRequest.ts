/**
 * What a customer asks for: an image made from a prompt, or an image changed by one.
 */

export type ImageOperation = "generate" | "edit"

export type SourceFormat = "png" | "jpeg" | "webp"

/** The image to be changed, as its bytes say it is. Never kept longer than its request. */
export interface SourceImage {
  readonly format: SourceFormat
  readonly widthPx: number
  readonly heightPx: number
  readonly bytes: Uint8Array
}

export interface ImageSize {
  readonly widthPx: number
  readonly heightPx: number
}

export interface ImageRequest {
  readonly operation: ImageOperation
  readonly model: string
  readonly prompt: string
  readonly size: ImageSize | "auto"
  readonly quality: "auto" | "low" | "medium" | "high"
  /** Present on an edit, and only there. */
  readonly source: SourceImage | undefined
  /** Every supported member but `model` as the customer gave it: what a supplier is sent. Nothing is added. */
  readonly members: Readonly<Record<string, string | number>>
}
