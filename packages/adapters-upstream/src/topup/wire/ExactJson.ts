/**
 * Reads and writes JSON with exact numbers: an amount is never converted to a floating-point number.
 *
 * The reader converts every number to a string, because payment providers write amounts as JSON numbers or as strings.
 * The writer writes a `bigint` or {@link Digits} as a JSON number.
 */
import * as Either from "effect/Either"

/** A decimal number that is written unchanged, for example `25.000123`. */
export class Digits {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Written =
  | string
  | boolean
  | bigint
  | Digits
  | ReadonlyArray<Written>
  | { readonly [member: string]: Written | undefined }

/** Matches a string or a number. A whole string is one match, so digits inside a string are not changed. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

export const parse = (text: string): Either.Either<unknown, "no JSON"> =>
  Either.try({
    try: () => {
      // Reject invalid JSON first: the replacement below is correct only for valid JSON.
      JSON.parse(text)
      return JSON.parse(text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)))
    },
    catch: () => "no JSON" as const
  })

/** Writes a value as JSON. Omits undefined members. */
export const write = (value: Written): string => {
  if (typeof value === "bigint") return value.toString()
  if (typeof value !== "object") return JSON.stringify(value)
  if (value instanceof Digits) return value.text
  if (isList(value)) return `[${value.map(write).join(",")}]`
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}:${write(member)}`]
  )
  return `{${members.join(",")}}`
}

const isList = (value: object): value is ReadonlyArray<Written> => Array.isArray(value)
