/**
 * Reads balances and usage after the settlements of this process. A client that reads its balance right after a stream
 * therefore sees the charge of the stream, although no stream waits for its settlement.
 */
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import * as Effect from "effect/Effect"

/** Runs `read` after the settlements that wait in this process, or without them if the database is slow. */
export const afterSettlements = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.flatMap(InferenceLedger, ({ flush }) => Effect.zipRight(flush, read))
