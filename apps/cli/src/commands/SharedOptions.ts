/**
 * Defines the arguments and options that several commands share. They are validated before the database is opened.
 */
import * as Os from "node:os"
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import { type Operator, Reason } from "@tollgate/domain/operations/Operation"
import { readTimeRange } from "@tollgate/domain/validation/Days"
import { Email } from "@tollgate/domain/validation/Email"
import type { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"

/** Returns an option whose value must match the schema. The error for a wrong value names the expected form. */
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

/** The names of all options without a value. */
const FLAGS = ["json", "csv", "yes", "dry-run", "all", "allow-older-nodes"] as const

/** Returns an option without a value. It is true if the command line contains it. */
export const flag = (name: (typeof FLAGS)[number], description: string): Options.Options<boolean> =>
  Options.boolean(name).pipe(Options.withDescription(description))

/** The words that @effect/cli reads as the value of a flag if they follow it. */
const FLAG_VALUE = /^(true|1|y|yes|on|false|0|n|no|off)$/

const isFlag = (arg: string): boolean => FLAGS.some((name) => arg === `--${name}`)

/**
 * Gives a flag an explicit value if the next word could be its value. @effect/cli would otherwise consume an argument
 * that is such a word, for example a file with the name `1`. The word after an option with a value is never a flag.
 */
export const withoutFlagValues = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const before = args[i - 1] ?? ""
    const isValue = before.startsWith("--") && !before.includes("=") && !isFlag(before)
    return isFlag(arg) && !isValue && FLAG_VALUE.test(args[i + 1] ?? "") ? `${arg}=true` : arg
  })

/** Returns an argument that must match the schema. */
export const argument = <A>(name: string, schema: Schema.Schema<A, string>, description: string): Args.Args<A> =>
  Args.text({ name }).pipe(
    Args.withDescription(description),
    Args.mapEffect((text) => read(name, schema, text))
  )

const read = <A>(name: string, schema: Schema.Schema<A, string>, text: string) =>
  Effect.mapError(Schema.decodeUnknown(schema)(text), (error) => {
    const issues = ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message }) => message)
    return HelpDoc.p(`${name}: expected ${issues.join("; ")}`)
  })

/** Returns an option that accepts one of the given words. */
export const oneOf = <const Word extends string>(
  name: string,
  words: ReadonlyArray<Word>,
  description: string
): Options.Options<Word> => {
  const Words = Schema.String.pipe(
    Schema.filter((text) => words.some((word) => word === text) || `one of: ${words.join(", ")}`),
    Schema.compose(Schema.Literal(...words), { strict: false })
  )
  return option(name, name.toUpperCase(), Words, `${description} One of: ${words.join(", ")}.`)
}

export const email = argument("email", Email, "The user's email address.")
export const user = option("user", "EMAIL", Email, "The user's email address.")
export const reason = option("reason", "TEXT", Reason, "The reason for the change, which is stored in the audit log.")

/** Returns the operator for the audit log. Without `--reason`, the reason is the name of the command. */
export const operatorFor = (command: string, reason: Option.Option<string>): Effect.Effect<Operator> =>
  Effect.map(userName, (actor) => ({ actor, reason: Option.getOrElse(reason, () => `cli: ${command}`) }))

/** The name of the operating system user, or the user id if the user has no name, as in some containers. */
const userName = Effect.try(() => Os.userInfo().username).pipe(
  Effect.orElseSucceed(() => `uid ${process.getuid?.() ?? "unknown"}`)
)

const ResellerName = Schema.Trim.pipe(
  Schema.filter((text) => (text !== "" && text.length <= 254) || "a reseller's id or email address")
)

export const resellerArgument = argument("reseller", ResellerName, "The reseller's id or email address.")
export const resellerOption = option("reseller", "X", ResellerName, "The reseller's id or email address.")

const Limit = Schema.String.pipe(
  Schema.filter((text) => /^[1-9]\d{0,3}$/.test(text) || "a whole number from 1 to 9999"),
  Schema.compose(Schema.NumberFromString)
)
export const limit = option("limit", "N", Limit, "Maximum number of entries; 100 by default.").pipe(
  Options.withDefault(100)
)

/** The error of a command that needs either a user or a reseller, and was given both or neither. */
export const oneOwner = new CommandFailed({
  exit: "usage",
  code: "usage",
  message: "Give either --user EMAIL or --reseller X."
})

const Day = Schema.String.pipe(
  Schema.filter((text) => Either.isRight(readTimeRange({ from: text })) || "a date like 2026-11-20")
)
const day = (name: string, description: string) => Options.optional(option(name, "DATE", Day, description))

/** The first and the last day of a range, in the time zone Asia/Jakarta. */
export const days = {
  from: day("from", "The first day, in the time zone Asia/Jakarta."),
  to: day("to", "The last day, in the time zone Asia/Jakarta.")
}

/** Returns the query of the given options. An option that is not given is undefined. */
export const queryOf = <const Name extends string>(
  given: Readonly<Record<Name, Option.Option<string>>>
): Record<Name, string | undefined> =>
  Record.map(given, (value: Option.Option<string>) => Option.getOrUndefined(value)) as Record<Name, string | undefined>

/** Reports an invalid range as a wrong command line. */
export const invalidRange = ({ details: [first] }: ValidationFailed): CommandFailed =>
  new CommandFailed({ exit: "usage", code: "usage", message: `--${first?.path}: expected ${first?.message}` })
