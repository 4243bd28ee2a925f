import { Effect } from "effect"
import * as Pg from "pg"
import { TestDatabase } from "../../support/TestDatabase.ts"

/** Opens another session. A test can lock rows in its transaction, which stays open until `unlock`. */
export const anotherSession = Effect.gen(function* () {
  const { settings } = yield* TestDatabase
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Pg.Client(settings)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  return {
    lock: (statement: string) => Effect.promise(() => client.query(`BEGIN; ${statement}`)),
    unlock: Effect.promise(() => client.query("ROLLBACK"))
  }
})
