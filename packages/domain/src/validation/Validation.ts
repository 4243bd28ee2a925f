/**
 * Decodes a caller's input with a schema, or refuses the input with an issue per invalid member.
 *
 * A refusal never repeats the input: it may contain a password.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** An issue with one member of a body or query: its path and its expected form. */
export const FieldIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type FieldIssue = typeof FieldIssue.Type

/** Members of the input are missing, malformed or contradictory. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  details: Schema.Array(FieldIssue)
}) {}

const MAX_ISSUES = 20

/** Returns a refusal with one issue. */
export const invalid = (path: string, message: string): ValidationFailed =>
  new ValidationFailed({ details: [{ path, message }] })

/** Converts a parse error to a refusal with one issue per member, which names all accepted forms of the member. */
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

/** Returns a decoder for a schema. It ignores members that the schema does not declare. */
export const read = <A, I>(schema: Schema.Schema<A, I>): ((input: unknown) => Either.Either<A, ValidationFailed>) => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all" })
  return (input) => Either.mapLeft(decode(input), validationFailed)
}

/** Shortens a message of Effect, `Expected string, actual "..."`, to `a string`. Other messages stay unchanged. */
const wordsFor = (message: string): string => {
  const actual = message.search(/,? ?actual /)
  const expected = (actual < 0 ? message : message.slice(0, actual)).replace(/^Expected /, "")
  if (expected.startsWith("{")) return "an object"
  return expected === "string" || expected === "number" || expected === "boolean" ? `a ${expected}` : expected
}

/** Joins the accepted forms of a member. Leaves out null and undefined, because the member is present but wrong. */
const eitherOf = (words: ReadonlyArray<string>): string => {
  const forms = words.filter((word) => word !== "null" && word !== "undefined")
  return (forms.length > 0 ? forms : words).join(" or ")
}
