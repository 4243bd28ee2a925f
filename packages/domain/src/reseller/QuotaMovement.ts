/**
 * A movement is one transfer to or from a reseller's quota. The sum of all movements of a reseller is its quota.
 */
import type { Position } from "../validation/Cursor.ts"

/** The operation that caused a movement: a credited top-up, a mint, or an adjustment by an operator. */
export type QuotaMovementKind = "topup" | "mint" | "adjustment"

export interface QuotaMovement {
  /** The time and the id of the transfer. */
  readonly position: Position
  readonly at: Date
  readonly kind: QuotaMovementKind
  /** The change in micro-USD: positive if it adds quota, negative if it removes quota. */
  readonly changeUsdMicro: bigint
  /** The order number of a top-up, or the operation id of a mint. An adjustment has no reference for resellers. */
  readonly reference: string | undefined
}
