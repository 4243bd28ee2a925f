/**
 * Determines the kind of a JSON value from its first byte.
 */
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./JsonReader.ts"

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null"

/** Returns the kind of a well-formed value. */
export const kindOf = (first: number | undefined): JsonKind => {
  switch (first) {
    case OPEN_OBJECT:
      return "object"
    case OPEN_ARRAY:
      return "array"
    case QUOTE:
      return "string"
    case 0x74:
    case 0x66:
      return "boolean"
    case 0x6e:
      return "null"
    default:
      return "number"
  }
}
