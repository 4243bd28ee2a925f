/**
 * Starts the slowest test files first, so that no slow file runs alone at the end while the other cores are idle. Without
 * the durations of an earlier run, Vitest starts the largest files first, but some short files take long.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The files that take more than five seconds, slowest first. A file that is missing here only starts later. */
const SLOW_FILES: ReadonlyArray<string> = [
  "fuzz/Fuzz",
  "e2e/Console",
  "faults/Nodes",
  "e2e/ConsolePages",
  "e2e/Workers",
  "e2e/Start",
  "faults/CrashReseller",
  "e2e/OperatorConsole",
  "e2e/Story",
  "packages/Examples",
  "simulation/Simulation",
  "adapters-http/images/ImagesRoutes",
  "embedded-postgres/EmbeddedPostgres",
  "e2e/OfficialClientsOfNpmStart",
  "adapters-http/server/RawConnections",
  "e2e/DocumentationPage",
  "e2e/RankingsPage",
  "e2e/ResellerTopUps",
  "e2e/Shutdown",
  "adapters-postgres/ledger/PgInferenceLedger.locks",
  "faults/Crash",
  "adapters-postgres/images/PgImageRequests",
  "faults/CrashDatabase",
  "e2e/ResellerAccess",
  "faults/DatabaseAway",
  "adapters-http/inference/relay/StreamAttempt",
  "adapters-http/inference/relay/HostileProviders",
  "adapters-postgres/operations/PgAudit",
  "e2e/Surface",
  "deploy/Monitoring",
  "cli/main",
  "e2e/Traces",
  "cli/commands/TopUps",
  "e2e/OperatorSession",
  "application/background/NodeHeartbeat",
  "faults/EarlyCall",
  "e2e/ImageMemory",
  "e2e/ProductionInstallation"
]

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = SLOW_FILES.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return rank === -1 ? SLOW_FILES.length : rank
}

export class SlowFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
