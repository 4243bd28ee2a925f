/**
 * A command that changes balances or permissions: the operation id that makes it safe to repeat, and its operator.
 */
import * as Schema from "effect/Schema"
import { charactersWithin, noHalfSurrogate, noNul } from "../validation/Text.ts"

/** The caller's idempotency key for one change of a balance: 1 to 128 characters (docs/reference/reseller.md#mint-2). */
export const OperationId = Schema.String.pipe(
  Schema.filter(charactersWithin(1, 128)),
  Schema.filter(noNul),
  // Two ids that differ only in an unpaired surrogate would be stored as equal.
  Schema.filter(noHalfSurrogate),
  Schema.brand("OperationId")
)
export type OperationId = typeof OperationId.Type

/** The operator of a manual command and the reason for it. Each manual command is recorded in the audit log. */
export interface Operator {
  /** The operating system user that runs the command. */
  readonly actor: string
  readonly reason: string
}
