/**
 * The caller's name for one movement of money: the same id moves it once, however often it is sent.
 * 1 to 128 characters (spec: Limits).
 */
import * as Schema from "effect/Schema"

export const OperationId = Schema.String.pipe(
  Schema.filter((s) => ([...s].length >= 1 && [...s].length <= 128) || "1 to 128 characters"),
  Schema.filter((s) => !s.includes("\u0000") || "no NUL character"),
  // Half a surrogate pair cannot be stored as it is: two ids that differ in nothing else would be one.
  Schema.filter((s) => !/\p{Surrogate}/u.test(s) || "no half surrogate pair"),
  Schema.brand("OperationId")
)
export type OperationId = typeof OperationId.Type
