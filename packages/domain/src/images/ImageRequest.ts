/**
 * Defines a customer's request to generate or edit an image, and selects the model that serves the request
 * (docs/reference/inference.md#f2).
 */
import * as Either from "effect/Either"
import { type Callable, type Catalog, candidatesOf, known } from "../catalog/Catalog.ts"
import type { ImageCapability } from "../catalog/Model.ts"
import type { ModelNotFound } from "../inference/InferenceErrors.ts"
import { UnsupportedEndpoint } from "./ImageErrors.ts"

export type ImageOperation = ImageCapability

export type SourceFormat = "png" | "jpeg" | "webp"

/** The image to edit. Its format and size are read from its bytes. The image is discarded when the request ends. */
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
  /** Present only for an edit. */
  readonly source: SourceImage | undefined
  /**
   * The supported members that the client sent, except `model` and `image`. The provider gets these members, its own
   * name for the model, and the source image.
   */
  readonly members: Readonly<Record<string, string | number>>
}

/**
 * Returns the model and its image routes. Fails if the model is unknown, hidden or retired, does not support the
 * operation, or has no route for images.
 */
export const callableForImages = (
  catalog: Catalog,
  publicName: string,
  operation: ImageOperation
): Either.Either<Callable, ModelNotFound | UnsupportedEndpoint> =>
  Either.flatMap(known(catalog, publicName), (model): Either.Either<Callable, UnsupportedEndpoint> => {
    if (model.kind !== "image") return unsupported(`'${publicName}' is not an image model. Choose an image model.`)
    if (!model.capabilities.includes(operation)) {
      return unsupported(
        `'${publicName}' does not ${operation === "edit" ? "edit" : "generate"} images. Choose another model.`
      )
    }
    const candidates = candidatesOf(catalog, model, "images")
    return candidates.length === 0
      ? unsupported(`'${publicName}' has no provider for images. Choose another model.`)
      : Either.right({ model, candidates })
  })

const unsupported = (message: string) => Either.left(new UnsupportedEndpoint({ message }))
