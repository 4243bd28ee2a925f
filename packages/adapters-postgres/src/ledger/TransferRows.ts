/**
 * Transfers as rows: what a decision books, under the name of whoever asked for it.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Booking } from "@tollgate/domain/ledger/Transfer"
import * as Effect from "effect/Effect"
import { nextUuidV7 } from "../client/UuidV7.ts"

/** A second transfer of one event is a defect: the decision was made over something else than what is there. */
export const book = (booking: Booking, actor: string): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(bookOnce(booking, actor), (booked) =>
    booked ? Effect.void : Effect.dieMessage(`${booking.code} of ${booking.ref} is booked already`)
  )

/** Whether it was booked now; not where the event has its transfer already, even one that was just being written. */
export const bookOnce = (
  { code, ref, unit, debit, credit, amount }: Booking,
  actor: string
): Effect.Effect<boolean, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const booked = yield* sql`INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
      VALUES (${yield* nextUuidV7}, ${code}, ${ref}, ${unit}, ${debit}, ${credit}, ${amount}, ${actor})
      ON CONFLICT (code, ref) DO NOTHING RETURNING id`
    return booked.length > 0
  })
