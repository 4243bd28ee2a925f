/**
 * The time by the database's clock, the only one that all nodes share, in whole milliseconds.
 *
 * Asked after the rows of a decision are locked, so that of two decisions over one row the later one has the later time.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

export const databaseTime: Effect.Effect<Date, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ now: Date }>`SELECT clock_timestamp() AS now`
  return row?.now ?? (yield* Effect.dieMessage("the database did not say the time"))
})
