/**
 * The arguments and options that several commands share, checked before anything is opened.
 */
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** An option whose text must be of a form; a mistake is answered with the option's name and what is expected. */
export const option = <A>(
  name: string,
  placeholder: string,
  schema: Schema.Schema<A, string>,
  description: string
): Options.Options<A> =>
  Options.text(name).pipe(
    Options.withPseudoName(placeholder),
    Options.withDescription(description),
    Options.mapEffect((text) => Effect.mapError(read(`--${name}`, schema, text), ValidationError.invalidValue))
  )

/** The same for an argument. */
export const argument = <A>(name: string, schema: Schema.Schema<A, string>, description: string): Args.Args<A> =>
  Args.text({ name }).pipe(
    Args.withDescription(description),
    Args.mapEffect((text) => read(name, schema, text))
  )

const read = <A>(name: string, schema: Schema.Schema<A, string>, text: string) =>
  Effect.mapError(Schema.decodeUnknown(schema)(text), (error) => {
    const issues = ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message }) => message)
    return HelpDoc.p(`${name}: ${issues.join("; ")}`)
  })

/** An option that takes one of a few words. */
export const oneOf = <const Word extends string>(
  name: string,
  words: ReadonlyArray<Word>,
  description: string
): Options.Options<Word> => {
  const Words = Schema.String.pipe(
    Schema.filter((text) => words.some((word) => word === text) || words.join(", ")),
    Schema.compose(Schema.Literal(...words), { strict: false })
  )
  return option(name, name.toUpperCase(), Words, `${description} One of: ${words.join(", ")}.`)
}

const Reason = Schema.Trim.pipe(
  Schema.filter((text) => (text !== "" && [...text].length <= 500) || "1 to 500 characters"),
  Schema.filter((text) => !/\p{Cc}/u.test(text) || "one line, no control characters")
)

export const email = argument("email", Email, "The user's email address.")
export const user = option("user", "EMAIL", Email, "The user's email address.")
export const reason = option("reason", "TEXT", Reason, "Why, for the audit log.")

const ResellerName = Schema.Trim.pipe(
  Schema.filter((text) => (text !== "" && text.length <= 254) || "a reseller's id or email address")
)

export const aReseller = argument("reseller", ResellerName, "The reseller's id or email address.")
export const reseller = option("reseller", "X", ResellerName, "The reseller's id or email address.")

/** Without it a command asks first. Where nobody can be asked it must be given, or nothing is even opened. */
export const yes = Options.boolean("yes").pipe(
  Options.withDescription("Do not ask first."),
  Options.mapEffect((yes) =>
    yes || process.stdin.isTTY
      ? Effect.succeed(yes)
      : Effect.fail(
          ValidationError.missingValue(
            HelpDoc.p("This command asks before it acts, and there is no terminal to ask on. Say --yes to go ahead.")
          )
        )
  )
)

const Limit = Schema.String.pipe(
  Schema.filter((text) => /^[1-9]\d{0,3}$/.test(text) || "a whole number from 1 to 9999"),
  Schema.compose(Schema.NumberFromString)
)
export const limit = option("limit", "N", Limit, "So many at most.").pipe(Options.withDefault(100))
