/**
 * JSON whose numbers stay the digits they were written in: an amount never passes through floating point.
 *
 * Read, every number is a string, as if it had stood in quotes; providers write the same amount both ways anyway.
 * Written, a `bigint` or {@link Digits} is a number.
 */
import * as Either from "effect/Either"

/** A decimal number to be written as it stands, for example `25.000123`. */
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

/** A string first, so that digits inside of one are left alone. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

export const parse = (text: string): Either.Either<unknown, "no JSON"> =>
  Either.try({
    try: () => {
      // Replacing is only right in what is JSON.
      JSON.parse(text)
      return JSON.parse(text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)))
    },
    catch: () => "no JSON" as const
  })

/** Members that are undefined are left out. */
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
