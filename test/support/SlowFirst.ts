/**
 * Starts the slowest test files first, so that no slow file runs alone at the end while the other cores are idle.
 * Without the durations of an earlier run, Vitest starts the largest files first, but some short files take long.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The files that take more than five seconds, slowest first. A file that is missing here only starts later. */
const SLOW_FILES: ReadonlyArray<string> = [
  "faults/Nodes",
  "e2e/Workers",
  "fuzz/Fuzz",
  "e2e/Console",
  "e2e/Start",
  "e2e/OfficialClientsOfNpmStart",
  "e2e/OperatorConsole",
  "e2e/ConsolePages",
  "adapters-http/server/RawConnections",
  "simulation/Simulation",
  "embedded-postgres/EmbeddedPostgres",
  "e2e/RankingsPage",
  "adapters-postgres/ledger/PgInferenceLedger.locks",
  "e2e/Shutdown",
  "faults/CrashReseller",
  "e2e/Story",
  "e2e/DocumentedRequests",
  "e2e/ResellerTopUps",
  "e2e/DocumentationPage",
  "adapters-http/inference/relay/HostileProviders",
  "faults/CrashDatabase",
  "e2e/ResellerAccess",
  "faults/DatabaseUnavailable",
  "faults/EarlyCall",
  "adapters-http/images/ImagesRoutes",
  "faults/Crash",
  "faults/Overspend",
  "application/background/NodeHeartbeat",
  "adapters-postgres/operations/PgAudit",
  "cli/commands/TopUps",
  "deploy/Monitoring",
  "e2e/Traces",
  "adapters-postgres/client/ResponseTimeout",
  "adapters-postgres/images/PgImageRequests",
  "adapters-http/inference/relay/StreamAttempt",
  "adapters-postgres/mint/PgMints",
  "adapters-http/inference/relay/ClientResponse",
  "deploy/GoingLive",
  "e2e/ImageMemory",
  "e2e/Surface",
  "faults/Images",
  "adapters-postgres/ledger/PgInferenceLedger.faults",
  "adapters-http/openapi/Document"
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
