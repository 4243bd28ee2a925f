/**
 * Field types of bodies and queries on the reseller and rankings routes. The same schemas document and type a response.
 */
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

export const text = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

/**
 * A whole number as a JSON number: exact below 2^53, which every value shown this way is (docs/reference/README.md#a4).
 */
export const integer = (description: string, example: number) =>
  Schema.Number.annotations({ jsonSchema: { type: "integer", description, examples: [example] } })

/** An amount as decimal digits in a string. */
export const digits = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", pattern: "^[0-9]+$", description, examples: [example] } })

export const uuid = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "uuid", description, examples: [example] } })

export const timestamp = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time", description, examples: [example] } })

/** Encodes an `integer`. A value that a JSON number would round must not be sent. */
export const wholeNumber = (amount: bigint): number => {
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("an amount is too large for a JSON number")
  return Number(amount)
}

/** Encodes a `timestamp` (docs/reference/README.md#a3). */
export const instant = (time: Date): string => time.toISOString()

/** Unknown members of a body are ignored. */
export const unknownMembers = { key: Schema.String, value: Schema.Unknown }

/** Ties the document of a body to the domain's schema that reads it: all members of that schema, and no others. */
export type MembersOf<Body extends Schema.Schema.Any> = {
  readonly [Name in keyof Body["Encoded"]]-?: Schema.Struct.Field
}

/**
 * A query parameter. The declaration documents it and accepts any text: the domain validates it after authentication, so
 * that an unauthenticated request always gets 401.
 */
export const parameter = (jsonSchema: object) =>
  Schema.optional(Schema.Array(Schema.String).annotations({ jsonSchema }))

/** The values of one parameter, in the order of the query. */
export type ParameterValues = ReadonlyArray<string> | undefined

/** The text of each parameter; a parameter that is repeated is invalid. */
export const singleValues = <Name extends string>(
  query: Readonly<Partial<Record<Name, ParameterValues>>>
): Either.Either<Partial<Record<Name, string>>, ValidationFailed> => {
  const values: Partial<Record<Name, string>> = {}
  const details: Array<{ readonly path: string; readonly message: string }> = []
  for (const name of Object.keys(query) as Array<Name>) {
    const [value, ...more] = query[name] ?? []
    if (more.length > 0) details.push({ path: name, message: "given once" })
    else if (value !== undefined) values[name] = value
  }
  return details.length > 0 ? Either.left(new ValidationFailed({ details })) : Either.right(values)
}
