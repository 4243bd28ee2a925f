/**
 * Determines the type of a JSON value from its first byte.
 */
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./JsonReader.ts"

export type JsonType = "object" | "array" | "string" | "number" | "boolean" | "null"

/** Returns the type of a well-formed value that begins with this byte. */
export const jsonTypeOf = (first: number | undefined): JsonType => {
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
