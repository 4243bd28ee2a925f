/**
 * Reads a caller's input by a schema, or refuses it with the issues of each member.
 *
 * A refusal never repeats the input: it may contain a password.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** The fault of one member of a body or query. */
export const FieldIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type FieldIssue = typeof FieldIssue.Type

/** Members are missing, malformed or contradict each other. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  details: Schema.Array(FieldIssue)
}) {}

const MAX_ISSUES = 20

/** One member, one reason. */
export const invalid = (path: string, message: string): ValidationFailed =>
  new ValidationFailed({ details: [{ path, message }] })

/** The issues of a schema in the form that callers receive: one per member, with all accepted forms. */
export const validationFailed = (error: ParseResult.ParseError | ParseResult.ParseIssue): ValidationFailed => {
  const issues = ParseResult.isParseError(error)
    ? ParseResult.ArrayFormatter.formatErrorSync(error)
    : ParseResult.ArrayFormatter.formatIssueSync(error)
  const expected = new Map<string, Set<string>>()
  for (const { path, message } of issues) {
    const member = path.join(".")
    expected.set(member, (expected.get(member) ?? new Set()).add(member === "" ? "an object" : wordsFor(message)))
  }
  const details = [...expected].map(([path, words]): FieldIssue => ({ path, message: eitherOf([...words]) }))
  return new ValidationFailed({ details: details.slice(0, MAX_ISSUES) })
}

/** Members the schema does not know are ignored. */
export const read = <A, I>(schema: Schema.Schema<A, I>): ((input: unknown) => Either.Either<A, ValidationFailed>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all" })
  return (input) => Either.mapLeft(decode(input), validationFailed)
}

/** `Expected string, actual "..."` becomes `a string`; messages of this codebase stay as they are. */
const wordsFor = (message: string): string => {
  const actual = message.search(/,? ?actual /)
  const expected = (actual < 0 ? message : message.slice(0, actual)).replace(/^Expected /, "")
  if (expected.startsWith("{")) return "an object"
  return expected === "string" || expected === "number" || expected === "boolean" ? `a ${expected}` : expected
}

/** A present but wrong member is not described as optional. */
const eitherOf = (words: ReadonlyArray<string>): string => {
  const forms = words.filter((word) => word !== "null" && word !== "undefined")
  return (forms.length > 0 ? forms : words).join(" or ")
}
