/**
 * Runs the transactions of the stores: either all statements of the body take effect or none.
 *
 * A transaction that fails because of a concurrent transaction (serialization failure, deadlock) is repeated as a whole
 * up to 8 times. Its body must therefore have no side effects besides its statements. After the last repeat, and after
 * every other database error, the transaction ends with a defect, so `transact` fails only with the domain errors of
 * the body. The defect is `DatabaseUnavailable` if the database is unavailable. When the connection is lost during the
 * commit, the outcome is unknown, so work that must not happen twice carries a unique id.
 */

import { randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { isRepeatable, isUnavailable } from "./SqlErrorClass.ts"

const MAX_REPEATS = 8

const FIRST_BACKOFF_MILLIS = 10
const MAX_BACKOFF_MILLIS = 1_000

/**
 * Returns a random delay. Its range doubles with each attempt, up to one second. Because the delay is random, two
 * sessions rarely retry at the same time.
 */
const backoffMillis = (attempt: number): number => {
  const longest = Math.min(MAX_BACKOFF_MILLIS, FIRST_BACKOFF_MILLIS * 2 ** Math.min(attempt, 10))
  return longest / 2 + randomInt(longest / 2)
}

export const afterBackoff = (attempt: number): Promise<void> => sleep(backoffMillis(attempt))

export const transact = <A, E, R>(
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError>, R | SqlClient.SqlClient> =>
  Effect.contextWithEffect((context: Context.Context<R | SqlClient.SqlClient>) => {
    if (Option.isSome(Context.getOption(context, SqlClient.TransactionConnection))) {
      return Effect.dieMessage("a transaction was started inside another transaction")
    }
    return Context.get(context, SqlClient.SqlClient)
      .withTransaction(body)
      .pipe(
        // The SQL client reports a failed COMMIT as a defect.
        Effect.catchSomeDefect((defect) =>
          defect instanceof SqlError ? Option.some(Effect.fail(defect)) : Option.none()
        ),
        Effect.retry({
          while: isRepeatable,
          schedule: Schedule.addDelay(Schedule.recurs(MAX_REPEATS), backoffMillis)
        }),
        sqlErrorsAreDefects
      )
  })

/** Turns every database error into a defect, which is {@link DatabaseUnavailable} if the database is unavailable. */
export const sqlErrorsAreDefects = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError>, R> =>
  Effect.catchAll(effect, (error) =>
    error instanceof SqlError ? Effect.die(defectOf(error)) : Effect.fail(error as Exclude<E, SqlError>)
  )

const defectOf = (error: SqlError): unknown =>
  isUnavailable(error.cause) ? new DatabaseUnavailable({ cause: error }) : error

/**
 * Reads the time of the database clock, the only clock that all nodes share, in whole milliseconds.
 *
 * If every transaction locks the same row before it reads the time, their times never decrease in the order of the
 * locks, unless the clock of the database is set back.
 */
export const databaseTime: Effect.Effect<Date, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ now: Date }>`SELECT clock_timestamp() AS now`
  return row?.now ?? (yield* Effect.dieMessage("the database returned no time"))
})
