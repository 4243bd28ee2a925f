/**
 * Decodes a caller's input with a schema, or returns one issue for each invalid member, at most 20 issues.
 *
 * Such an issue never repeats a value of the input, because the value may be a password.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** An issue about one member of a body or query: the path of the member and its expected form. */
export const FieldIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type FieldIssue = typeof FieldIssue.Type

/** Members of the input are missing, malformed or contradictory. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  details: Schema.Array(FieldIssue)
}) {}

const MAX_ISSUES = 20

/** Returns a validation error with one issue. */
export const invalid = (path: string, message: string): ValidationFailed =>
  new ValidationFailed({ details: [{ path, message }] })

/** Converts a parse error to one issue for each invalid member, at most 20 issues. */
export const validationFailed = (error: ParseResult.ParseError | ParseResult.ParseIssue): ValidationFailed => {
  const issues = ParseResult.isParseError(error)
    ? ParseResult.ArrayFormatter.formatErrorSync(error)
    : ParseResult.ArrayFormatter.formatIssueSync(error)
  const expected = new Map<string, Set<string>>()
  for (const { path, message } of issues) {
    const member = path.join(".")
    expected.set(
      member,
      (expected.get(member) ?? new Set()).add(member === "" ? "the body must be an object" : wordsFor(message))
    )
  }
  const paths = [...expected.keys()]
  const details = [...expected]
    // For an invalid member of an optional object, the schema also reports that the object is not null or
    // undefined. This second issue is omitted.
    .filter(([path, words]) => ![...words].every(isAbsent) || !paths.some((other) => other.startsWith(`${path}.`)))
    .map(([path, words]): FieldIssue => ({ path, message: eitherOf([...words]) }))
  return new ValidationFailed({ details: details.slice(0, MAX_ISSUES) })
}

/**
 * Returns a decoder for a schema. The decoder ignores members that the schema does not declare, unless an annotation of
 * the schema makes them an error.
 */
export const read = <A, I>(schema: Schema.Schema<A, I>): ((input: unknown) => Either.Either<A, ValidationFailed>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all" })
  return (input) => Either.mapLeft(decode(input), validationFailed)
}

/**
 * A list of `min` to `max` items. The number of items is checked first: for each invalid item there is an issue, and
 * thousands of issues would block the event loop for more than a second. `form` describes the list.
 */
export const listWithin = <A, I>(item: Schema.Schema<A, I>, min: number, max: number, form: string) =>
  Schema.compose(
    Schema.Array(Schema.Unknown).pipe(Schema.filter(({ length }) => (length >= min && length <= max) || form)),
    Schema.Array(item),
    { strict: false }
  )

/** Shortens an error message of the library Effect, such as `Expected string, actual "..."`, to the expected form. */
const wordsFor = (message: string): string => {
  const actual = message.search(/,? ?actual /)
  const expected = (actual < 0 ? message : message.slice(0, actual)).replace(/^Expected /, "")
  if (expected.startsWith("{")) return "an object"
  if (expected.startsWith("is unexpected")) return "is not a known member"
  return expected === "string" || expected === "number" || expected === "boolean" ? `a ${expected}` : expected
}

/**
 * Joins the accepted forms of a member. Omits null and undefined, because the message is for a caller that has sent a
 * value.
 */
const eitherOf = (words: ReadonlyArray<string>): string => {
  const forms = words.filter((word) => !isAbsent(word))
  return (forms.length > 0 ? forms : words).join(" or ")
}

const isAbsent = (word: string): boolean => word === "null" || word === "undefined"
