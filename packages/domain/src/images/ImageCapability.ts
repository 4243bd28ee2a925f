/**
 * Whether a model can do what is asked of it, and who can be asked to (gap F2).
 *
 * A model that nobody may know of is not found; one that makes no images, or does not do this with them, says so.
 */
import * as Either from "effect/Either"
import { type Callable, type Catalog, candidatesOf, known } from "../catalog/Catalog.ts"
import type { ModelNotFound } from "../inference/InferenceErrors.ts"
import { UnsupportedEndpoint } from "./ImageErrors.ts"
import type { ImageOperation } from "./ImageRequest.ts"

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
