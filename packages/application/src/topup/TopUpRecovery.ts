/**
 * Declares what an operator needs after the database was restored to an earlier time: the orders and deposit addresses
 * that were given out after that time are unknown to the database, but payers can still pay them (docs/backup.md).
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { OrderId, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The state of an order or of a draft. */
export type StoredState = TopUpStatus | "draft" | "abandoned"

export interface DepositIndexRange {
  readonly first: number
  readonly last: number
}

export class TopUpRecovery extends Context.Tag("@tollgate/application/TopUpRecovery")<
  TopUpRecovery,
  {
    /** Returns the state of each of these orders that the database knows. */
    readonly states: (ids: ReadonlyArray<OrderId>) => Effect.Effect<ReadonlyMap<OrderId, StoredState>>
    /**
     * Uses up the next deposit indexes, so that no order gets them. Returns the range from the first index above those
     * of all orders.
     */
    readonly skipDepositIndexes: (count: number, operator: Operator) => Effect.Effect<DepositIndexRange>
  }
>() {}
