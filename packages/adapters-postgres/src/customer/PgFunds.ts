/**
 * Reads whether a customer has funds. Concurrent calls for one customer share one query, so concurrent requests of one
 * customer use only one database connection. No result is cached, so a credit takes effect at the next query.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Funds } from "@tollgate/application/inference/Funds"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import type { UserId } from "@tollgate/domain/customer/User"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Maximum number of customers whose funds are read concurrently. Reads for further customers are refused. */
const MAX_CONCURRENT_LOOKUPS = 64
const TIMEOUT_MILLIS = 3_000

export const layer: Layer.Layer<Funds, never, SqlClient.SqlClient> = Layer.scoped(
  Funds,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const lookups = yield* SingleFlight.make<UserId, boolean, Overloaded>(MAX_CONCURRENT_LOOKUPS)

    const lookup = (userId: UserId) =>
      // Two subqueries, because each kind of account has its own partial index.
      sql<{ available: boolean }>`SELECT
          EXISTS (SELECT 1 FROM account WHERE user_id = ${userId} AND kind = 'payg'
            AND credits_posted - debits_posted - debits_pending > 0)
          OR EXISTS (SELECT 1 FROM account WHERE user_id = ${userId} AND kind = 'plan'
            AND credits_posted - debits_posted - debits_pending > 0) AS available`.pipe(
        Effect.map(([row]) => row?.available === true),
        Effect.disconnect,
        Effect.timeoutFail({ duration: TIMEOUT_MILLIS, onTimeout: () => new Overloaded({ retryAfterSeconds: 1 }) }),
        Effect.catchTag("SqlError", (error) =>
          Effect.zipRight(
            Effect.logDebug("the funds of a customer could not be read from the database", error),
            new Overloaded({ retryAfterSeconds: 1 })
          )
        )
      )

    return {
      areAvailable: (userId) =>
        lookups.run(userId, () => lookup(userId), Effect.fail(new Overloaded({ retryAfterSeconds: 1 })))
    }
  })
)
