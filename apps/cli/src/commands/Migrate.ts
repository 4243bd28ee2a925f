/**
 * `tollgate migrate`: brings the database to the form this version works with.
 */
import { Database } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"

export const migrate = answering("migrate", "Bring the database to the form this version works with.", {}, () =>
  Effect.gen(function* () {
    const applied = yield* Effect.flatMap(Database, (database) => database.migrate)
    return {
      document: { applied },
      text:
        applied.length === 0
          ? "The database is up to date."
          : ["Applied:", ...applied.map((name) => `  ${name}`), "The database is up to date now."].join("\n")
    } satisfies Answer
  })
)
