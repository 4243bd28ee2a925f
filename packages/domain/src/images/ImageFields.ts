/**
 * Defines the table of the fields of an image request. Each row states the allowed values of a field and the operation
 * that has the field, and decides whether the field is sent to the provider (docs/reference/images.md).
 *
 * A client sends a generation as JSON, and an edit as a form, in which all values except the file are text. Each row
 * reads values of both kinds. A JSON `null` counts as an absent field, because official clients send `null` for an
 * unset field. A field that has no row is refused.
 */
import * as Either from "effect/Either"
import { InvalidRequest } from "../inference/InferenceErrors.ts"
import { shortened } from "../validation/Text.ts"
import { UnsupportedParameter } from "./ImageErrors.ts"
import type { ImageOperation } from "./ImageRequest.ts"

export const MAX_PROMPT_CHARACTERS = 32_000
export const MAX_EDGE_PX = 4_096
export const MAX_AREA_PX = 16_777_216

/** Returns whether the requested size, or the size of a source image, is within the limits. */
export const isWithinLimits = (widthPx: number, heightPx: number): boolean =>
  widthPx <= MAX_EDGE_PX && heightPx <= MAX_EDGE_PX && widthPx * heightPx <= MAX_AREA_PX

/** The value of a field; undefined if the field is not sent to the provider. */
export type Member = string | number | undefined

export type FieldError = InvalidRequest | UnsupportedParameter

interface Row {
  /** The operation that has this field; absent if both operations have the field. */
  readonly only?: ImageOperation
  readonly read: (given: unknown, name: string) => Either.Either<Member, FieldError>
}

/** Returns the row of a supported field. A value that `allows` rejects is refused with `InvalidRequest`. */
const supported = (must: string, allows: (given: unknown) => given is string | number): Row => ({
  read: (given, name) => (allows(given) ? Either.right(given) : Either.left(invalid(name, must)))
})

/**
 * Returns the row of a field that may have only the `harmless` values, which have no effect. The field is never sent to
 * the provider.
 */
const tolerated = (harmless: ReadonlyArray<unknown>, why: string): Row => ({
  read: (given, name) =>
    harmless.includes(given)
      ? Either.right(undefined)
      : Either.left(new UnsupportedParameter({ message: why, param: name }))
})

const unsupported = (why: string): Row => tolerated([], why)

const oneOf = (...allowed: ReadonlyArray<string>): Row =>
  supported(`one of ${allowed.map((each) => `'${each}'`).join(", ")}`, (given): given is string =>
    allowed.some((each) => each === given)
  )

const isFilled = (given: unknown): given is string => typeof given === "string" && given !== ""

/** Returns whether the value is a prompt of allowed length. A surrogate pair (two UTF-16 units) is one character. */
const isPrompt = (given: unknown): given is string => {
  if (!isFilled(given) || given.length > 2 * MAX_PROMPT_CHARACTERS) return false
  let characters = 0
  for (const _ of given) characters += 1
  return characters <= MAX_PROMPT_CHARACTERS
}

const isOne = (given: unknown): given is string | number => given === 1 || given === "1"

const PERCENT = /^(?:0|[1-9]\d?|100)$/

const isPercent = (given: unknown): given is string | number =>
  typeof given === "string" ? PERCENT.test(given) : Number.isInteger(given) && PERCENT.test(`${given}`)

const SIZE = /^([1-9]\d{0,3})x([1-9]\d{0,3})$/

const edgesOf = (given: unknown): readonly [number, number] | undefined => {
  const [, width, height] = (typeof given === "string" ? SIZE.exec(given) : null) ?? []
  return width === undefined || height === undefined ? undefined : [+width, +height]
}

const isSize = (given: unknown): given is string => {
  const edges = edgesOf(given)
  return given === "auto" || (edges !== undefined && isWithinLimits(...edges))
}

/** Returns the size that an accepted value of the field `size` states; `auto` for an absent field. */
export const sizeOf = (given: unknown) => {
  const edges = edgesOf(given)
  return edges === undefined ? ("auto" as const) : { widthPx: edges[0], heightPx: edges[1] }
}

const NO_STREAM = "Images are not streamed. Omit this field."

export const rows = {
  model: supported("the public name of an image model", isFilled),
  prompt: supported(`text of 1 to ${MAX_PROMPT_CHARACTERS} characters`, isPrompt),
  n: supported("1: every request makes one image", isOne),
  size: supported(
    `'auto' or '<width>x<height>', with edges of 1 to ${MAX_EDGE_PX} pixels and an area of at most ${MAX_AREA_PX} pixels`,
    isSize
  ),
  quality: oneOf("auto", "low", "medium", "high"),
  output_format: oneOf("png", "jpeg", "webp"),
  output_compression: supported("an integer from 0 to 100", isPercent),
  background: oneOf("auto", "opaque", "transparent"),
  image: {
    only: "edit",
    read: (_, name) => Either.left(invalid(name, "a file in the form, not text or a URL"))
  },
  response_format: tolerated(["b64_json"], "Images are returned inline only, as 'b64_json', not as a URL."),
  stream: tolerated([false, "false"], NO_STREAM),
  partial_images: unsupported(NO_STREAM),
  mask: unsupported("Masks are not supported. Describe the change in the prompt.")
} as const satisfies { readonly [name: string]: Row }

export type FieldName = keyof typeof rows

/** The names of the known fields, including the unsupported ones. */
export const fieldNames = Object.keys(rows) as ReadonlyArray<FieldName>

/** Returns the row of a field. Fails if this operation has no field of this name. */
export const fieldOf = (operation: ImageOperation, name: string): Either.Either<Row, UnsupportedParameter> => {
  const row: Row | undefined = Object.hasOwn(rows, name) ? rows[name as FieldName] : undefined
  if (row !== undefined && (row.only ?? operation) === operation) return Either.right(row)
  const shown = shortened(name, MAX_SHOWN_CHARACTERS)
  return Either.left(
    new UnsupportedParameter({
      message: `'${shown}' is not supported for this operation. Omit this field.`,
      param: shown
    })
  )
}

/**
 * Reads one field by its row. In a form (edit), numbers and booleans are text. In JSON (generation), they must not be
 * text.
 */
export const readField = (operation: ImageOperation, name: string, given: unknown): Either.Either<Member, FieldError> =>
  Either.flatMap(fieldOf(operation, name), (row) => {
    if (given === null) return Either.right(undefined)
    const isWronglyText = operation === "generate" && NUMBERS_AND_BOOLEANS.has(name) && typeof given === "string"
    return row.read(isWronglyText ? undefined : given, name)
  })

const NUMBERS_AND_BOOLEANS: ReadonlySet<string> = new Set(["n", "output_compression", "stream"])
const MAX_SHOWN_CHARACTERS = 100

const invalid = (name: string, must: string): InvalidRequest =>
  new InvalidRequest({ message: `'${name}' must be ${must}.`, param: name })
