/**
 * Settings out of the environment, described once and read alike by every program of an installation.
 *
 * Each is a variable with a kind, a default and a sentence for the operations page. All that is wrong is told at once,
 * one line each; the value itself is never repeated, because it may be a secret.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** Values of this kind, and what to say when one is not. */
export const kind = <A, I>(needs: string, schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({ message: () => ({ message: `${needs} is needed`, override: true }) })

/** Digits only: no sign, no exponent, no other base. */
const Digits = Schema.String.pipe(Schema.pattern(/^\d{1,18}$/))

/** A whole number of something, as `a whole number of seconds`. */
export const wholeNumber = (what: string, from: number, to: number) =>
  kind(`${what} from ${from} to ${to}`, Schema.compose(Digits, Schema.NumberFromString).pipe(Schema.between(from, to)))

/** The same for an amount of money. */
export const amount = (what: string, from: bigint, to: bigint) =>
  kind(`${what} from ${from} to ${to}`, Schema.compose(Digits, Schema.BigInt).pipe(Schema.betweenBigInt(from, to)))

export const Mode = kind("development, production or test", Schema.Literal("development", "production", "test"))
export const Text = kind("a text", Schema.NonEmptyString)
export const Port = wholeNumber("a port", 0, 65_535)
export const Seconds = wholeNumber("a whole number of seconds", 1, 3_600)
export const Word = kind(
  "a word of small letters and digits, a letter first,",
  Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9]{0,31}$/))
)
/** One that we or an operator draw. */
export const Secret = kind(
  "a secret of 32 characters or more",
  Schema.Redacted(Schema.String.pipe(Schema.minLength(32)))
)
/** One that somebody else gave us, of whatever form they like. */
export const Credential = kind("a key without spaces", Schema.Redacted(Schema.String.pipe(Schema.pattern(/^\S+$/))))
/** Where something is reached over HTTP; told without a slash at its end, so that paths can be appended. */
export const HttpAddress = kind(
  "an address like https://example.com, without query,",
  Schema.transform(Schema.String.pipe(Schema.pattern(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/)), Schema.String, {
    strict: true,
    decode: (text) => text.replace(/\/+$/, ""),
    encode: (text) => text
  }).pipe(Schema.filter((text) => URL.canParse(text)))
)
export const Switch = kind(
  "on or off",
  Schema.transform(Schema.Literal("1", "0", "true", "false", "on", "off"), Schema.Boolean, {
    strict: true,
    decode: (text) => text === "1" || text === "true" || text === "on",
    encode: (value) => (value ? "on" : "off")
  })
)

/** Several of a kind, with commas between them. */
export const listOf = <A>(what: string, item: Schema.Schema<A, string>) =>
  kind(
    `a list of ${what}, with commas between them,`,
    Schema.transform(Schema.String, Schema.Array(item), {
      strict: true,
      decode: (text) => text.split(",").map((part) => part.trim()),
      encode: (parts) => parts.join(",")
    })
  )

export const optional = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true })

export const withDefault = <A, I>(schema: Schema.Schema<A, I>, value: A, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true, default: () => value })

export type Environment = Readonly<Record<string, string | undefined>>

/** The settings in these variables, or everything that is wrong with them: `NAME: what is needed`. */
export const readSettings =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (environment: Environment): Either.Either<A, ReadonlyArray<string>> => {
    // An empty variable is one that was not set.
    const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""))
    return Either.mapLeft(Schema.decodeUnknownEither(schema, { errors: "all" })(given), (error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path, message }) => `${String(path[0])}: ${message}`)
    )
  }
