/**
 * Defines `tollgate migrate`, which migrates the database to the schema of this version. Refuses if a living node cannot
 * run after a pending migration.
 */
import * as Options from "@effect/cli/Options"
import { Database, type OlderNode } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { Settings } from "../runtime/Settings.ts"
import type { Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"

const allowOlderNodes = Options.boolean("allow-older-nodes").pipe(
  Options.withDescription("Migrate even if servers run that cannot run after a migration; their requests can fail.")
)

export const migrate = reportCommand(
  "migrate",
  "Migrate the database to the schema of this version.",
  { allowOlderNodes },
  ({ allowOlderNodes }) =>
    Effect.gen(function* () {
      const { NODE_DEAD_AFTER_SECONDS } = yield* Settings
      const database = yield* Database
      const older = allowOlderNodes ? [] : yield* database.olderNodes(NODE_DEAD_AFTER_SECONDS)
      if (older.length > 0) return yield* olderNodesRun(older, NODE_DEAD_AFTER_SECONDS)
      const applied = yield* database.migrate
      return {
        document: { applied },
        text:
          applied.length === 0
            ? "The database is up to date."
            : ["Applied:", ...applied.map((name) => `  ${name}`), "The database is now up to date."].join("\n")
      } satisfies Report
    })
)

const olderNodesRun = (older: ReadonlyArray<OlderNode>, deadAfterSeconds: number): CommandFailed =>
  new CommandFailed({
    exit: "refused",
    code: "older_nodes",
    message: [
      "These servers cannot run after the pending migrations, and no migration was applied:",
      ...older.map(
        ({ endedBy, id, lastMigration }) =>
          `  node ${id}: ${lastMigration ?? "a release before 0019_node_versions"}; cannot run after ${endedBy.join(", ")}`
      ),
      "Upgrade each of them to the previous release, or stop them. Then run this command again.",
      `A server that was killed counts as alive for ${deadAfterSeconds} seconds after its last heartbeat.`,
      "To migrate anyway, add --allow-older-nodes: requests on these servers can then fail."
    ].join("\n")
  })
