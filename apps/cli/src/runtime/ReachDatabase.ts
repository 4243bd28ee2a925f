/**
 * Checks whether the database responds and whether its schema is up to date.
 */
import { Database, type DatabaseState } from "@tollgate/application/operations/Database"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { CommandFailed, rootMessage } from "../exit/CommandFailed.ts"
import { printNote } from "../terminal/Output.ts"
import { Settings } from "./Settings.ts"

const TIMEOUT = "6 seconds"

export const reachDatabase: Effect.Effect<DatabaseState, CommandFailed, Database | Settings> = Effect.gen(function* () {
  const { DATABASE_URL } = yield* Settings
  const database = yield* Database
  const unreachable = (reason: string) =>
    new CommandFailed({
      exit: "failed",
      code: "database_unreachable",
      message:
        `The database does not respond: ${reason}. ` +
        (DATABASE_URL === undefined
          ? "It is the embedded Postgres in DATA_DIR; its log is the file postgres/log in that directory."
          : "Check that Postgres runs and that DATABASE_URL has the right host, user and password.")
    })
  return yield* database.state.pipe(
    Effect.timeoutFail({ duration: TIMEOUT, onTimeout: () => unreachable(`no response within ${TIMEOUT}`) }),
    Effect.catchAllCause((cause) =>
      Cause.isInterrupted(cause)
        ? Effect.failCause(cause)
        : Effect.fail(failureIn(cause) ?? unreachable(rootMessage(cause)))
    )
  )
})

const failureIn = (cause: Cause.Cause<CommandFailed>): CommandFailed | undefined =>
  Cause.failures(cause).pipe((failures) => [...failures][0])

/**
 * Fails if a migration is pending, or if a newer release has applied a migration that is incompatible with this
 * release. Outside production, applies pending migrations to the embedded Postgres instead.
 */
export const readyDatabase: Effect.Effect<void, CommandFailed, Database | Settings> = Effect.gen(function* () {
  const { DATABASE_URL, NODE_ENV } = yield* Settings
  const { incompatibleMigrations, pendingMigrations } = yield* reachDatabase
  if (incompatibleMigrations.length > 0)
    return yield* new CommandFailed({
      exit: "failed",
      code: "release_too_old",
      message: `The database has the migrations ${incompatibleMigrations.join(", ")} of a newer release. Use the command line of that release.`
    })
  if (pendingMigrations.length === 0) return
  if (DATABASE_URL === undefined && NODE_ENV !== "production") {
    const applied = yield* Effect.flatMap(Database, (database) => database.migrate)
    if (applied.length > 0) yield* printNote(`Applied migrations to the embedded Postgres: ${applied.join(", ")}`)
    return
  }
  return yield* new CommandFailed({
    exit: "failed",
    code: "migrations_pending",
    message: `The database lacks the migrations ${pendingMigrations.join(", ")}. Run: tollgate migrate`
  })
})
