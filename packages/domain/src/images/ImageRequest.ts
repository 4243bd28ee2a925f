/**
 * A customer's request for an image, made from a prompt or edited by one, and the models that can serve it
 * (docs/reference/inference.md#f2).
 */
import * as Either from "effect/Either"
import { type Callable, type Catalog, candidatesOf, known } from "../catalog/Catalog.ts"
import type { ImageCapability } from "../catalog/Model.ts"
import type { ModelNotFound } from "../inference/InferenceErrors.ts"
import { UnsupportedEndpoint } from "./ImageErrors.ts"

export type ImageOperation = ImageCapability

export type SourceFormat = "png" | "jpeg" | "webp"

/** The image to edit, as its bytes describe it. Never kept longer than its request. */
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
  /** Present on an edit only. */
  readonly source: SourceImage | undefined
  /** Every supported member but `model`, as received: exactly these are sent to the provider. */
  readonly members: Readonly<Record<string, string | number>>
}

/** A hidden model is not found; a visible one that does not support the operation is refused with the reason. */
export const capableOf = (
  catalog: Catalog,
  publicName: string,
  operation: ImageOperation
): Either.Either<Callable, ModelNotFound | UnsupportedEndpoint> =>
  Either.flatMap(known(catalog, publicName), (model): Either.Either<Callable, UnsupportedEndpoint> => {
    if (model.kind !== "image") return unsupported(`${publicName} makes no images`)
    if (!model.capabilities.includes(operation)) {
      return unsupported(`${publicName} does not ${operation === "edit" ? "edit" : "generate"} images`)
    }
    const candidates = candidatesOf(catalog, model, "images")
    return candidates.length === 0
      ? unsupported(`${publicName} does not serve images at the moment`)
      : Either.right({ model, candidates })
  })

const unsupported = (message: string) => Either.left(new UnsupportedEndpoint({ message }))
