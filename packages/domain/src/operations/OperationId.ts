/**
 * The caller's name for one movement of money: the same id moves it once, however often it is sent.
 * 1 to 128 characters (spec: Limits).
 */
import * as Schema from "effect/Schema"

export const OperationId = Schema.String.pipe(
  Schema.filter((s) => ([...s].length >= 1 && [...s].length <= 128) || "1 to 128 characters"),
  Schema.filter((s) => !s.includes("\u0000") || "no NUL character"),
  Schema.brand("OperationId")
)
export type OperationId = typeof OperationId.Type
