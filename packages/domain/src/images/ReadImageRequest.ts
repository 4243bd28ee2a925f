/**
 * Reads the members of a JSON body or a form into an image request, or refuses with the first error.
 */
import * as Either from "effect/Either"
import { InvalidRequest } from "../inference/InferenceErrors.ts"
import { type FieldError, type Member, readField, sizeOf } from "./ImageFields.ts"
import type { ImageOperation, ImageRequest, SourceImage } from "./ImageRequest.ts"

/** The JSON values of a generation or the form texts of an edit, by name. */
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

/** The error of a combination of members: one is missing, or two contradict each other. */
const combinationError = (
  operation: ImageOperation,
  { model, prompt, output_format: format, output_compression: compression, background }: { [name: string]: Member },
  source: SourceImage | undefined
): InvalidRequest | undefined => {
  if (model === undefined) return refuse("model", "'model' is required.")
  if (prompt === undefined) return refuse("prompt", "'prompt' is required.")
  if (compression !== undefined && format !== "jpeg" && format !== "webp") {
    return refuse("output_compression", "'output_compression' goes only with the output formats 'jpeg' and 'webp'.")
  }
  if (background === "transparent" && format === "jpeg") {
    return refuse("background", "A JPEG cannot be transparent. Take 'png' or 'webp' as 'output_format'.")
  }
  return operation === "edit" && source === undefined
    ? refuse("image", "'image' is required: one file, a PNG, JPEG or WebP.")
    : undefined
}

const refuse = (param: string, message: string): InvalidRequest => new InvalidRequest({ message, param })
