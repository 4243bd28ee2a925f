/**
 * The kinds of members that bodies of the reseller programme have, with what they mean and what they look like: the
 * documentation is made of the same schemas that type the answers.
 */
import * as Schema from "effect/Schema"

export const text = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

/** A whole number as JSON has it: exact below 2^53, which everything shown this way is (gap A4). */
export const integer = (description: string, example: number) =>
  Schema.Number.annotations({ jsonSchema: { type: "integer", description, examples: [example] } })

/** An amount as decimal digits in a string. */
export const digits = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", pattern: "^[0-9]+$", description, examples: [example] } })

export const uuid = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "uuid", description, examples: [example] } })

export const timestamp = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time", description, examples: [example] } })

/** As `integer` is written; what is not exact as a JSON number must not be told at all. */
export const wholeNumber = (amount: bigint): number => {
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("an amount is too large for a JSON number")
  return Number(amount)
}

/** As `timestamp` is written (gap A3). */
export const instant = (time: Date): string => time.toISOString()

/** Members that are not known are ignored. */
export const anythingElse = { key: Schema.String, value: Schema.Unknown }

/** Documents a body that the domain reads: it names the members the domain's schema reads, all of them, and no others. */
export type MembersOf<Body extends Schema.Schema.Any> = {
  readonly [Name in keyof Body["Encoded"]]-?: Schema.Struct.Field
}
