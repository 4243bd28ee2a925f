/**
 * Reads balances and usage after the waiting settlements of this process (docs/reference/balances-and-usage.md#k18). No
 * client waits for the settlement of its stream, but the balance that it reads next should contain the charge.
 */
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import * as Effect from "effect/Effect"

/**
 * Runs `read` after the waiting settlements. Does not wait for a settlement that takes too long, or that needs a row
 * that another session has locked.
 */
export const afterSettlements = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.flatMap(InferenceLedger, ({ flush }) => Effect.zipRight(flush, read))
