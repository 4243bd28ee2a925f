/**
 * Reads the members of a JSON body or a form into an image request. Fails with the first error.
 */
import * as Either from "effect/Either"
import { InvalidRequest } from "../inference/InferenceErrors.ts"
import { type FieldError, type Member, readField, sizeOf } from "./ImageFields.ts"
import type { ImageOperation, ImageRequest, SourceImage } from "./ImageRequest.ts"

/** The members of a request by name. The values are JSON values for a generation and texts of a form for an edit. */
export type GivenMembers = ReadonlyMap<string, unknown>

export const readImageRequest = (
  operation: ImageOperation,
  given: GivenMembers,
  source: SourceImage | undefined
): Either.Either<ImageRequest, FieldError> => {
  const members: Record<string, string | number> = {}
  for (const [name, value] of given) {
    const member = readField(operation, name, value)
    if (Either.isLeft(member)) return Either.left(member.left)
    if (member.right !== undefined) members[name] = member.right
  }
  const { model, ...sent } = members
  const error = combinationError(operation, members, source)
  if (error !== undefined) return Either.left(error)
  return Either.right({
    operation,
    model: `${model}`,
    prompt: `${members.prompt}`,
    size: sizeOf(members.size),
    quality: (members.quality ?? "auto") as ImageRequest["quality"],
    source,
    members: sent
  })
}

/**
 * Returns the error for a missing member, or for two members that contradict each other; undefined if there is none.
 */
const combinationError = (
  operation: ImageOperation,
  { model, prompt, output_format: format, output_compression: compression, background }: { [name: string]: Member },
  source: SourceImage | undefined
): InvalidRequest | undefined => {
  if (model === undefined) return refuse("model", "'model' is required.")
  if (prompt === undefined) return refuse("prompt", "'prompt' is required.")
  if (compression !== undefined && format !== "jpeg" && format !== "webp") {
    return refuse(
      "output_compression",
      "'output_compression' is supported only with the output formats 'jpeg' and 'webp'."
    )
  }
  if (background === "transparent" && format === "jpeg") {
    return refuse("background", "A JPEG cannot be transparent. Use 'output_format' 'png' or 'webp'.")
  }
  return operation === "edit" && source === undefined
    ? refuse("image", "'image' is required: one PNG, JPEG or WebP file.")
    : undefined
}

const refuse = (param: string, message: string): InvalidRequest => new InvalidRequest({ message, param })
