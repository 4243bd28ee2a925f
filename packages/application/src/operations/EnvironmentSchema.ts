/**
 * Reads settings from environment variables. The server and the CLI share the declarations.
 *
 * A setting has a kind of value, a description for the documentation and possibly a default. All errors are reported
 * together, one line each. An error never contains the value, because the value may be a secret.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/**
 * Declares a kind of value. The error for a value that is not of this kind is the text `needs` followed by "is needed".
 */
export const kind = <A, I>(needs: string, schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({ message: () => ({ message: `${needs} is needed`, override: true }) })

/** A non-negative integer, written as 1 to 18 decimal digits. */
const Digits = Schema.String.pipe(Schema.pattern(/^\d{1,18}$/))

/** Declares an integer setting. `what` begins the error text, for example `a whole number of seconds`. */
export const wholeNumber = (what: string, from: number, to: number) =>
  kind(`${what} from ${from} to ${to}`, Schema.compose(Digits, Schema.NumberFromString).pipe(Schema.between(from, to)))

/** Declares an amount of money. It is a bigint, because it may be too large for an exact JavaScript number. */
export const amount = (what: string, from: bigint, to: bigint) =>
  kind(`${what} from ${from} to ${to}`, Schema.compose(Digits, Schema.BigInt).pipe(Schema.betweenBigInt(from, to)))

export const Mode = kind("development, production or test", Schema.Literal("development", "production", "test"))
export const Text = kind("a text", Schema.NonEmptyString)
export const Port = wholeNumber("a port", 0, 65_535)
export const Seconds = wholeNumber("a whole number of seconds", 1, 3_600)
export const Word = kind(
  "a word of lower-case letters and digits that begins with a letter",
  Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9]{0,31}$/))
)
/** A secret that the server or an operator generates. */
export const Secret = kind(
  "a secret of 32 characters or more",
  Schema.Redacted(Schema.String.pipe(Schema.minLength(32)))
)
/** A secret that another company issued, such as a payment provider, in the format of that company. */
export const Credential = kind("a key without spaces", Schema.Redacted(Schema.String.pipe(Schema.pattern(/^\S+$/))))
/** A base URL. Trailing slashes are removed, so that paths can be appended. */
export const HttpAddress = kind(
  "a URL like https://example.com, without a query,",
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

/** Declares a list of values of one kind, separated by commas. */
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

/**
 * Returns the settings in these variables, or one error per invalid variable, for example `PORT: a port from 0 to 65535
 * is needed`.
 */
export const readSettings =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (environment: Environment): Either.Either<A, ReadonlyArray<string>> => {
    // An empty variable counts as absent.
    const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""))
    return Either.mapLeft(Schema.decodeUnknownEither(schema, { errors: "all" })(given), (error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path, message }) => `${String(path[0])}: ${message}`)
    )
  }
