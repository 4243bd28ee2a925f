/**
 * A command that moves money or rights: the id that makes it safe to repeat, and the operator who gives it.
 */
import * as Schema from "effect/Schema"
import { charactersWithin, noHalfSurrogate, noNul } from "../validation/Text.ts"

/** The caller's idempotency key for one movement of money. 1 to 128 characters (docs/reference/reseller.md#mint-2). */
export const OperationId = Schema.String.pipe(
  Schema.filter(charactersWithin(1, 128)),
  Schema.filter(noNul),
  // Two ids that differ only in half a surrogate pair would be stored as equal.
  Schema.filter(noHalfSurrogate),
  Schema.brand("OperationId")
)
export type OperationId = typeof OperationId.Type

/** The author of a manual command and its reason. Every such command leaves an entry in the audit log. */
export interface Operator {
  /** The name of the operating system's user at the command line. */
  readonly actor: string
  readonly reason: string
}
