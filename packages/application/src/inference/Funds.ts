/**
 * Declares the check of a customer's funds, which runs before a large request body is read.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export class Funds extends Context.Tag("@tollgate/application/Funds")<
  Funds,
  {
    /**
     * Returns whether a token plan or the pay-as-you-go balance of the customer has an available amount. Fails with
     * {@link Overloaded} if the database is unreachable, or if the funds of too many customers are read concurrently.
     */
    readonly areAvailable: (userId: UserId) => Effect.Effect<boolean, Overloaded>
  }
>() {}

/** Fails with {@link InsufficientBalance} if this customer has no available money and no available tokens. */
export const requireFunds = (
  funds: Context.Tag.Service<Funds>,
  userId: UserId
): Effect.Effect<void, InsufficientBalance | Overloaded> =>
  Effect.flatMap(funds.areAvailable(userId), (available) => (available ? Effect.void : new InsufficientBalance()))
