/**
 * One transaction, or nothing.
 *
 * A transaction that loses against another one (serialization failure, deadlock) is run again a few times, whole, so
 * its body must have no effect but its statements. What the database refuses otherwise is a defect: the failures that
 * remain are the domain's. When the connection is lost during the commit nobody knows the outcome; what must not
 * happen twice carries an id of its own.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { isRepeatable } from "./SqlState.ts"

const REPEATS = 8

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
          schedule: Schedule.jittered(Schedule.exponential("10 millis")),
          times: REPEATS
        }),
        sqlErrorsAreDefects
      )
  })

/** For single statements: what the database refuses is a defect. */
export const sqlErrorsAreDefects = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError>, R> =>
  Effect.catchAll(effect, (error) =>
    error instanceof SqlError ? Effect.die(error) : Effect.fail(error as Exclude<E, SqlError>)
  )
