/**
 * The first question to the database: whether it answers, and in which state it is.
 */
import { Database, type DatabaseState } from "@tollgate/application/operations/Database"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { remark } from "../terminal/Output.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { troubleOf } from "./RootCause.ts"
import { Settings } from "./Settings.ts"

const PATIENCE = "6 seconds"

export const reachDatabase: Effect.Effect<DatabaseState, CommandFailed, Database | Settings> = Effect.gen(function* () {
  const { DATABASE_URL } = yield* Settings
  const database = yield* Database
  const unreachable = (reason: string) =>
    new CommandFailed({
      exit: "failed",
      code: "database_unreachable",
      message:
        `The database does not answer: ${reason}. ` +
        (DATABASE_URL === undefined
          ? "It is the embedded Postgres in DATA_DIR; its log is beside its data."
          : "Check that it runs and that DATABASE_URL says the right host, user and password.")
    })
  return yield* database.state.pipe(
    Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => unreachable(`nothing within ${PATIENCE}`) }),
    Effect.catchAllCause((cause) =>
      Cause.isInterrupted(cause)
        ? Effect.failCause(cause)
        : Effect.fail(failureIn(cause) ?? unreachable(troubleOf(cause)))
    )
  )
})

const failureIn = (cause: Cause.Cause<CommandFailed>): CommandFailed | undefined =>
  Cause.failures(cause).pipe((failures) => [...failures][0])

/** Only with the tables this version knows. Our own database is brought up to date on the way, as the server does. */
export const readyDatabase: Effect.Effect<void, CommandFailed, Database | Settings> = Effect.gen(function* () {
  const { DATABASE_URL, NODE_ENV } = yield* Settings
  const { pendingMigrations } = yield* reachDatabase
  if (pendingMigrations.length === 0) return
  if (DATABASE_URL === undefined && NODE_ENV !== "production") {
    const applied = yield* Effect.flatMap(Database, (database) => database.migrate)
    if (applied.length > 0) yield* remark(`Prepared the database: ${applied.join(", ")}`)
    return
  }
  return yield* new CommandFailed({
    exit: "failed",
    code: "migrations_pending",
    message: `The database lacks ${pendingMigrations.join(", ")}. Bring it up to date with: tollgate migrate`
  })
})
