/**
 * Declares field types for the bodies and queries of routes other than the inference routes. The same schema documents
 * a response and gives the response its TypeScript type.
 */
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

export const text = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

/**
 * Declares a whole number as a JSON number, which is exact below 2^53. Amounts that can be larger are declared as
 * {@link digits} (docs/reference/README.md#a4).
 */
export const integer = (description: string, example: number) =>
  Schema.Number.annotations({ jsonSchema: { type: "integer", description, examples: [example] } })

/** Declares an amount as a string of decimal digits. */
export const digits = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", pattern: "^[0-9]+$", description, examples: [example] } })

export const uuid = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "uuid", description, examples: [example] } })

export const timestamp = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time", description, examples: [example] } })

/** Declares a field that can be null, with the description of the field. */
export const orNull = <A, I>(field: Schema.Schema<A, I>) => {
  const override = Option.getOrUndefined(SchemaAST.getJSONSchemaAnnotation(field.ast)) as
    | { readonly description?: string }
    | undefined
  const description = override?.description ?? Option.getOrElse(SchemaAST.getDescriptionAnnotation(field.ast), () => "")
  return Schema.NullOr(field).annotations({ description })
}

/** Formats an optional time for a field that {@link orNull} declares. */
export const instantOrNull = (time: Date | undefined): string | null => (time === undefined ? null : instant(time))

/**
 * Converts an amount for a field that {@link integer} declares. Throws if the amount is above the largest exact integer
 * of a JSON number. Negative amounts are not checked.
 */
export const wholeNumber = (amount: bigint): number => {
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("an amount is too large for a JSON number")
  return Number(amount)
}

/**
 * Formats a time for a field that {@link timestamp} declares: in UTC with milliseconds (docs/reference/README.md#a3).
 */
export const instant = (time: Date): string => time.toISOString()

/** Second argument of `Schema.Struct` for a body that can have unknown members, which are ignored. */
export const unknownMembers = { key: Schema.String, value: Schema.Unknown }

/**
 * The type of a body's documented fields. It has a member for each required or optional field of the domain schema that
 * reads the body, so code that does not document a field does not compile.
 */
export type MembersOf<Body extends Schema.Schema.Any> = {
  readonly [Name in keyof Body["Encoded"]]-?: Schema.Struct.Field
}

/**
 * Declares a query parameter that accepts any text. The domain validates the text after the authentication, so that a
 * request without valid credentials gets 401 even if the text is invalid.
 */
export const parameter = (jsonSchema: object) =>
  Schema.optional(Schema.Array(Schema.String).annotations({ jsonSchema }))

/** The values of one query parameter, in the order in which the query contains them. */
export type ParameterValues = ReadonlyArray<string> | undefined

/** The query parameters that have the names of the members of `Query`. */
export type ParametersOf<Query> = { readonly [Name in keyof Query]?: ParameterValues }

/** Returns the value of each parameter that the query contains. Fails if a parameter is repeated. */
export const singleValues = <Name extends string>(
  query: Readonly<Partial<Record<Name, ParameterValues>>>
): Either.Either<Partial<Record<Name, string>>, ValidationFailed> => {
  const values: Partial<Record<Name, string>> = {}
  const details: Array<{ readonly path: string; readonly message: string }> = []
  for (const name of Object.keys(query) as Array<Name>) {
    const [value, ...more] = query[name] ?? []
    if (more.length > 0) details.push({ path: name, message: "must be given only once" })
    else if (value !== undefined) values[name] = value
  }
  return details.length > 0 ? Either.left(new ValidationFailed({ details })) : Either.right(values)
}
