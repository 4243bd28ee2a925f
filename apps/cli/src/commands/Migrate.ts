/**
 * Defines `tollgate migrate`, which migrates the database to the schema of this version. Without `--allow-older-nodes`,
 * the command refuses if a live node of an older release cannot run after a pending migration. A killed node counts as
 * alive for some seconds. Therefore the command first waits until one of these older nodes sends a heartbeat, or until
 * all of them count as dead.
 */
import { Database, type OlderNode } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { Settings } from "../runtime/Settings.ts"
import { printNote, type Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"
import { flag } from "./SharedOptions.ts"

const allowOlderNodes = flag(
  "allow-older-nodes",
  "Migrate even if servers run that cannot run after a migration; their requests can fail."
)

export const migrate = reportCommand(
  "migrate",
  "Migrate the database to the schema of this version.",
  { allowOlderNodes },
  ({ allowOlderNodes }) =>
    Effect.gen(function* () {
      const { NODE_DEAD_AFTER_SECONDS } = yield* Settings
      const database = yield* Database
      if (!allowOlderNodes) yield* refuseForOlderNodes(database.olderNodes(NODE_DEAD_AFTER_SECONDS))
      const applied = yield* allowOlderNodes
        ? database.migrate
        : Effect.catchTag(database.migrateWithoutOlderNodes(NODE_DEAD_AFTER_SECONDS), "OlderNodesRun", ({ nodes }) =>
            olderNodesRun(nodes)
          )
      return {
        document: { applied },
        text:
          applied.length === 0
            ? "The database is up to date."
            : ["Applied:", ...applied.map((name) => `  ${name}`), "The database is now up to date."].join("\n")
      } satisfies Report
    })
)

const HEARTBEAT_CHECK_MILLIS = 500

/** Waits until all older nodes count as dead. Fails if one of them sends a heartbeat in the meantime. */
const refuseForOlderNodes = (olderNodes: Effect.Effect<ReadonlyArray<OlderNode>>): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const first = yield* olderNodes
    if (first.length === 0) return
    const beats = new Map(first.map(({ beatAt, id }) => [id, beatAt.getTime()]))
    yield* printNote("Servers of an older release may still run. Waiting for their next heartbeat.")
    for (let older = first; older.length > 0; older = yield* olderNodes) {
      const isAlive = older.some(({ beatAt, id }) => beats.get(id) !== beatAt.getTime())
      if (isAlive) return yield* olderNodesRun(older)
      yield* Effect.sleep(HEARTBEAT_CHECK_MILLIS)
    }
  })

const olderNodesRun = (older: ReadonlyArray<OlderNode>): CommandFailed =>
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
      "To migrate anyway, add --allow-older-nodes: requests on these servers can then fail."
    ].join("\n")
  })
