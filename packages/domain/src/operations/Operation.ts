/**
 * Defines the operation id, with which a caller can safely repeat a change, and the actor of a change.
 */
import * as Schema from "effect/Schema"
import { charactersWithin, noHalfSurrogate, noNul, oneLine } from "../validation/Text.ts"

/**
 * The caller's name for one mint, one top-up order or one change of a balance (docs/reference/reseller.md#mint-2,
 * docs/reference/reseller.md#d13). A repeated call with the id of an applied change changes nothing.
 */
export const OperationId = Schema.String.pipe(
  Schema.filter(charactersWithin(1, 128)),
  Schema.filter(noNul),
  // Postgres would store two ids as equal if they differ only in an unpaired surrogate (half of a UTF-16 pair).
  Schema.filter(noHalfSurrogate),
  Schema.brand("OperationId")
)
export type OperationId = typeof OperationId.Type

/** The reseller has used the operation id for another request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/** The reason that an operator gives for a change: 1 to 500 characters on one line. */
export const Reason = Schema.Trim.pipe(
  Schema.filter(charactersWithin(1, 500)),
  Schema.filter(oneLine),
  Schema.filter(noHalfSurrogate)
)

/** The actor of a change (an operator, a reseller or the server) and the reason. Both are recorded in the audit log. */
export interface Operator {
  /**
   * The operating system user that runs the command, or the operator's name in the operator session. For other changes:
   * `reseller:<id>`, `server` or `demo`.
   */
  readonly actor: string
  readonly reason: string
}
