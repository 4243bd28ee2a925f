/**
 * Defines `tollgate migrate`, which migrates the database to the schema of this version.
 */
import { Database } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"

export const migrate = reportCommand("migrate", "Migrate the database to the schema of this version.", {}, () =>
  Effect.gen(function* () {
    const applied = yield* Effect.flatMap(Database, (database) => database.migrate)
    return {
      document: { applied },
      text:
        applied.length === 0
          ? "The database is up to date."
          : ["Applied:", ...applied.map((name) => `  ${name}`), "The database is now up to date."].join("\n")
    } satisfies Report
  })
)
