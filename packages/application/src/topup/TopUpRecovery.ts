/**
 * Declares the store that an operator needs after a restore of the database to an earlier time (docs/backup.md). The
 * restored database does not contain the orders and deposit addresses that were given out after that time, but payers
 * can still pay them.
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
    /** Returns the states of the orders with these ids. An order that is not in the database has no state. */
    readonly states: (ids: ReadonlyArray<OrderId>) => Effect.Effect<ReadonlyMap<OrderId, StoredState>>
    /** Returns the deposit indexes in the range that visible orders have. */
    readonly orderedIndexes: (range: DepositIndexRange) => Effect.Effect<ReadonlySet<number>>
    /**
     * Uses up the next deposit indexes, so that no order gets them. Returns the range of the indexes that lost orders
     * can have. It ends with the last index that was used up. It begins with the first index of a draft, or, if there
     * is no draft, with the first index above the indexes of all orders.
     */
    readonly skipDepositIndexes: (count: number, operator: Operator) => Effect.Effect<DepositIndexRange>
  }
>() {}
