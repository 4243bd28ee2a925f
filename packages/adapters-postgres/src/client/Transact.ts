/**
 * Transactions of the stores: all of the body or nothing.
 *
 * A transaction that loses against a concurrent one (serialization failure, deadlock) is repeated a few times as a
 * whole, so its body must have no effects besides its statements. Every other refusal of the database is a defect; the
 * remaining failures are the domain's. When the connection is lost during the commit, the outcome is unknown, so work
 * that must not happen twice carries an id of its own.
 */

import { randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { isRepeatable } from "./SqlErrorClass.ts"

const MAX_REPEATS = 8

const FIRST_BACKOFF_MILLIS = 10
const MAX_BACKOFF_MILLIS = 1_000

/** Doubles with each attempt, up to a second; jittered, so that two sessions do not retry in step. */
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
      return Effect.dieMessage("a transaction was begun inside another one")
    }
    return Context.get(context, SqlClient.SqlClient)
      .withTransaction(body)
      .pipe(
        // The client reports a failed COMMIT as a defect.
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

/** For single statements: a refusal of the database is a defect. */
export const sqlErrorsAreDefects = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError>, R> =>
  Effect.catchAll(effect, (error) =>
    error instanceof SqlError ? Effect.die(error) : Effect.fail(error as Exclude<E, SqlError>)
  )

/**
 * The time by the database's clock, in whole milliseconds: the only clock that all nodes share.
 *
 * Read after the rows of a decision are locked, so that the later of two decisions over one row has the later time.
 */
export const databaseTime: Effect.Effect<Date, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ now: Date }>`SELECT clock_timestamp() AS now`
  return row?.now ?? (yield* Effect.dieMessage("the database returned no time"))
})
